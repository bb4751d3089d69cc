import { type Command, Option } from 'commander'
import type { CliContext } from '../cli-context.ts'
import { CommandFailure, UsageError } from '../exit-code.ts'
import { findLocalSystem, type LocalSystem, nothingRuns } from '../options/local-system.ts'
import { readUrl } from '../options/option-values.ts'
import { readSecret } from '../options/read-secret.ts'

/** The options that select a gateway for an operator command. */
export interface OperatorOptions {
  readonly adminUrl?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly json?: boolean
}

/** The URL of a gateway's private listener, and an operator token. */
export interface OperatorAddress {
  /** Without a trailing slash. */
  readonly adminUrl: string
  readonly token: string
}

/** Gives a command the options of `OperatorOptions`. */
export function addOperatorOptions(command: Command): Command {
  return (
    command
      .option('--admin-url <url>', 'admin URL of the gateway (default: the local one)', readUrl)
      .option('--token-file <path>', 'file with an operator token (default: ONCEHOOK_OPERATOR_TOKEN)')
      // Defined only to be refused: commander prints unknown options with their values.
      .addOption(new Option('--token <value>').hideHelp())
      .option('--json', 'print one JSON document and nothing else')
  )
}

/**
 * The gateway to operate.
 * @throws CommandFailure if none is given and none runs locally
 * @throws UsageError if one is given without a token
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
