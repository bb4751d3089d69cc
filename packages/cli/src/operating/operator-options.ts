import { type Command, Option } from 'commander'
import type { CliContext } from '../cli-context.ts'
import { CommandFailure, UsageError } from '../exit-code.ts'
import { findLocalSystem, type LocalSystem, nothingRuns } from '../local-system.ts'
import { readUrl } from '../option-values.ts'
import { readSecret } from '../read-secret.ts'

/** The options by which a command that operates a gateway names it. */
export interface OperatorOptions {
  readonly adminUrl?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly json?: boolean
}

/** A gateway's private listener and the right to call its operator API. */
export interface OperatorAddress {
  /** Without a slash at the end. */
  readonly adminUrl: string
  readonly token: string
}

/** Gives a command the options of `OperatorOptions`. */
export function addOperatorOptions(command: Command): Command {
  return (
    command
      .option('--admin-url <url>', 'admin URL of the gateway (default: the local one)', readUrl)
      .option('--token-file <path>', 'file with an operator token (default: ONCEHOOK_OPERATOR_TOKEN)')
      // Known only to be refused: an unknown option would be printed with its value.
      .addOption(new Option('--token <value>').hideHelp())
      .option('--json', 'print one JSON document and nothing else')
  )
}

/**
 * The gateway to operate.
 * @throws CommandFailure when none is named and none runs here
 * @throws UsageError when one is named without a token
 */
export async function findOperatorAddress(options: OperatorOptions, context: CliContext): Promise<OperatorAddress> {
  if (options.token !== undefined) {
    throw new UsageError('Do not pass a token as an argument: use --token-file or ONCEHOOK_OPERATOR_TOKEN')
  }
  const running = await findLocalSystem(context.dataFolder)
  const adminUrl = options.adminUrl ?? running?.adminUrl
  // The tokens of what runs here are not for strangers.
  const local = adminUrl === running?.adminUrl ? running : null
  if (adminUrl === undefined) throw new CommandFailure(`${nothingRuns}, or name a gateway with --admin-url`)
  const token = await readOperatorToken(options, { context, local })
  if (token === undefined) {
    throw new UsageError('--admin-url needs --token-file or ONCEHOOK_OPERATOR_TOKEN')
  }
  return { adminUrl, token }
}

/**
 * The token of the operator: from its file, else from the environment, else that of the system which runs here.
 * @throws UsageError when the file cannot be read or is blank
 */
export async function readOperatorToken(
  options: OperatorOptions,
  { context, local }: { readonly context: CliContext; readonly local: LocalSystem | null },
): Promise<string | undefined> {
  const { tokenFile } = options
  const given = await readSecret('token', { tokenFile }, context.readEnv)
  return given ?? context.operatorToken?.trim() ?? local?.operatorToken
}
