import type { OperatorRouter } from '@oncehook/gateway/operator/operator-router'
import { createTRPCClient, httpLink, type TRPCClient, TRPCClientError } from '@trpc/client'
import { CommandFailure } from '../exit-code.ts'
import { toPrintable } from '../output.ts'
import type { OperatorAddress } from './operator-options.ts'

/** The operator API, typed by its router. */
export type OperatorClient = TRPCClient<OperatorRouter>

/** The operator API refused a call or did not answer; `code` is null without an answer that can be read. */
export class OperatorApiFailure extends CommandFailure {
  override readonly name = 'OperatorApiFailure'
  readonly code: string | null

  constructor(message: string, { code, cause }: { code: string | null; cause: unknown }) {
    super(message, { cause })
    this.code = code
  }
}

const TIMEOUT_MS = 15_000

/** A client of one gateway's operator API. Every call ends within 15 s; await it through `ask`. */
export function createOperatorClient(
  fetch: typeof globalThis.fetch,
  { adminUrl, token }: OperatorAddress,
): OperatorClient {
  return createTRPCClient<OperatorRouter>({
    links: [
      httpLink({
        url: `${adminUrl}/operator`,
        headers: { authorization: `Bearer ${token}` },
        fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) } as RequestInit),
      }),
    ],
  })
}

/**
 * What the gateway answered.
 * @throws OperatorApiFailure saying what it refused, or that it did not answer
 */
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
  const failure = (says: string) => new OperatorApiFailure(says, { code, cause: error })
  if (code === 'unauthenticated') return failure(NOT_ACCEPTED)
  if (code !== null && TOO_LONG.has(code))
    return failure(`An argument is too long: an id has at most 64 characters (${code})`)
  return failure(code === null ? NO_ANSWER : `${message} (${code})`)
}

/** Why the gateway refused: as its procedures say it, or as its listener does, which answers before any of them. */
function refusalIn({ data, message, meta }: TRPCClientError<OperatorRouter>): { code: string | null; message: string } {
  const { reason } = asObject(data)
  if (typeof reason === 'string') return { code: toPrintable(reason), message: toPrintable(message) }
  const { code, error } = asObject(meta?.responseJSON)
  // Nothing is there: the address is that of something else.
  const isRefusal = typeof code === 'string' && typeof error === 'string' && code !== 'not_found'
  return isRefusal ? { code: toPrintable(code), message: toPrintable(error) } : { code: null, message }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

const TOO_LONG: ReadonlySet<string> = new Set(['uri_too_long', 'headers_too_large'])
const NOT_ACCEPTED =
  'The gateway rejected this token: use one of its OPERATOR_TOKENS, or a valid access token from its OPERATOR_ISSUER'
const NO_ANSWER = 'The operator API does not answer: is this the admin URL of a gateway, and is it running?'
