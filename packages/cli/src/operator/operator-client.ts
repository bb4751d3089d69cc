// The operator API of a gateway: the options that select it, the token, and a client whose failures are sentences.

import type { OperatorRouter } from '@oncehook/gateway/start/operator-router'
import { createTRPCClient, httpLink, type TRPCClient, TRPCClientError } from '@trpc/client'
import { type Command, Option } from 'commander'
import { type CliContext, CommandFailure, UsageError } from '../command.ts'
import {
  addInsecureHttpOption,
  findLocalSystem,
  type LocalSystem,
  nothingRuns,
  protectToken,
} from '../options/gateway-address.ts'
import { readSecret, readUrl, type SecretOptions } from '../options/option-values.ts'
import { toPrintable } from '../output.ts'

export type OperatorClient = TRPCClient<OperatorRouter>

/** The operator API refused a call or did not answer. `code` is null without a readable answer. */
export class OperatorApiFailure extends CommandFailure {
  override readonly name = 'OperatorApiFailure'
  readonly code: string | null

  constructor(message: string, { code, cause }: { code: string | null; cause: unknown }) {
    super(message, { cause })
    this.code = code
  }
}

const TIMEOUT_MS = 15_000

/** A client of a gateway's operator API. A call takes at most 15 s. Await it through `ask`. */
export function createOperatorClient(
  fetch: typeof globalThis.fetch,
  { adminUrl, token }: OperatorAddress,
): OperatorClient {
  return createTRPCClient<OperatorRouter>({
    links: [
      httpLink({
        url: `${adminUrl}/operator`,
        // What somebody searches for must not be in a URL.
        methodOverride: 'POST',
        headers: { authorization: `Bearer ${token}` },
        fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) } as RequestInit),
      }),
    ],
  })
}

/** @throws OperatorApiFailure if the gateway refuses the call or does not answer */
export async function ask<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw toFailure(error)
  }
}

function toFailure(error: unknown): unknown {
  if (!(error instanceof TRPCClientError)) return error
  const { code, message } = refusalIn(error)
  const failure = (text: string) => new OperatorApiFailure(text, { code, cause: error })
  if (code === 'unauthenticated') return failure(NOT_ACCEPTED)
  if (code !== null && TOO_LONG.has(code))
    return failure(`An argument is too long: an id has at most 64 characters (${code})`)
  return failure(code === null ? NO_ANSWER : `${message} (${code})`)
}

/** The reason for a refusal, from a procedure or from the listener in front of the procedures. */
function refusalIn({ data, message, meta }: TRPCClientError<OperatorRouter>): { code: string | null; message: string } {
  const reason: unknown = Object(data).reason
  if (typeof reason === 'string') return { code: toPrintable(reason), message: toPrintable(message) }
  const { code, error }: Readonly<Record<string, unknown>> = Object(meta?.responseJSON)
  // `not_found` comes from a server that is not the private listener of a gateway.
  const isRefusal = typeof code === 'string' && typeof error === 'string' && code !== 'not_found'
  return isRefusal ? { code: toPrintable(code), message: toPrintable(error) } : { code: null, message }
}

const TOO_LONG: ReadonlySet<string> = new Set(['uri_too_long', 'headers_too_large'])
const NOT_ACCEPTED =
  'The gateway rejected this token: use one of its OPERATOR_TOKENS, or a valid access token from its OPERATOR_ISSUER'
const NO_ANSWER = 'The operator API does not answer: is this the admin URL of a gateway, and is it running?'

export interface OperatorOptions extends Pick<SecretOptions, 'token' | 'tokenFile'> {
  readonly adminUrl?: string
  readonly insecureHttp?: boolean
  readonly json?: boolean
}

/** The URL of a gateway's private listener, and an operator token. */
export interface OperatorAddress {
  /** Without a trailing slash. */
  readonly adminUrl: string
  readonly token: string
}

export function addOperatorOptions(command: Command): Command {
  return addInsecureHttpOption(
    command
      .option('--admin-url <url>', 'admin URL of the gateway (default: the local one)', readUrl)
      .option('--token-file <path>', 'file with an operator token (default: ONCEHOOK_OPERATOR_TOKEN)')
      // Defined only to be refused: commander prints unknown options with their values.
      .addOption(new Option('--token <value>').hideHelp())
      .option('--json', 'print one JSON document and nothing else'),
  )
}

/**
 * The gateway to operate.
 * @throws CommandFailure if none is given and none runs locally
 * @throws UsageError if one is given without a token, or its token would not be safe
 */
export async function findOperatorAddress(options: OperatorOptions, context: CliContext): Promise<OperatorAddress> {
  if (options.token !== undefined) {
    throw new UsageError('Do not pass a token as an argument: use --token-file or ONCEHOOK_OPERATOR_TOKEN')
  }
  const running = await findLocalSystem(context.dataFolder)
  const adminUrl = options.adminUrl ?? running?.adminUrl
  // Another gateway must not get the local tokens.
  const local = adminUrl === running?.adminUrl ? running : null
  if (adminUrl === undefined) throw new CommandFailure(`${nothingRuns}, or name a gateway with --admin-url`)
  const token = await readOperatorToken(options, { context, local })
  if (token === undefined) {
    throw new UsageError('--admin-url needs --token-file or ONCEHOOK_OPERATOR_TOKEN')
  }
  if (local === null) protectToken('--admin-url', adminUrl, options.insecureHttp)
  return { adminUrl, token }
}

/**
 * The operator token: from the file, else from the environment, else from the local system.
 * @throws UsageError if the file cannot be read or is empty
 */
export async function readOperatorToken(
  options: OperatorOptions,
  { context, local }: { readonly context: CliContext; readonly local: LocalSystem | null },
): Promise<string | undefined> {
  const { tokenFile } = options
  const given = await readSecret('token', { tokenFile }, context.readEnv)
  return given ?? context.operatorToken?.trim() ?? local?.operatorToken
}

/**
 * A client of the operator API of the gateway in the options, or of the local one.
 * @throws CommandFailure or UsageError if there is no gateway, or no token for it
 */
export async function connectOperator(options: OperatorOptions, context: CliContext): Promise<OperatorClient> {
  return createOperatorClient(context.fetch, await findOperatorAddress(options, context))
}
