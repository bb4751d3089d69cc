// `oncehook <command>`: adds every command to the program, runs the one that is asked for, and turns its end into an exit code.
// A failure is written to standard error and, with `--json`, also to standard output.

import { SigningError } from '@oncehook/webhooks/signing/signer'
import { Command, CommanderError } from 'commander'
import {
  type AddCommand,
  type CliContext,
  type CommandDeps,
  CommandFailure,
  type ExitCode,
  UsageError,
} from './command.ts'
import { addAuditListCommand, addAuditVerifyCommand } from './commands/audit.ts'
import { addContractShowCommand, addContractVerifyCommand } from './commands/contract.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addEncryptionRotateCommand } from './commands/encryption.ts'
import { addEraseCommand } from './commands/erase.ts'
import {
  addEventsCloseCommand,
  addEventsListCommand,
  addEventsReleaseCommand,
  addEventsShowCommand,
  addEventsTestCommand,
} from './commands/events.ts'
import { addExplainCommand } from './commands/explain.ts'
import {
  addHandlersBackfillCommand,
  addHandlersDiscardCommand,
  addHandlersListCommand,
  addHandlersPauseCommand,
  addHandlersResumeCommand,
} from './commands/handlers.ts'
import { addKeysNewCommand, addKeysRotateCommand } from './commands/keys.ts'
import { addOrdersCorrectCommand, addOrdersShowCommand } from './commands/orders.ts'
import { addOverviewCommand } from './commands/overview.ts'
import { addProvidersListCommand, addProvidersPauseCommand, addProvidersResumeCommand } from './commands/providers.ts'
import { addReceiptsListCommand, addReceiptsReleaseCommand } from './commands/receipts.ts'
import { addRefusedCommand } from './commands/refused.ts'
import {
  addEventsReplayCommand,
  addReplaysCancelCommand,
  addReplaysListCommand,
  addReplaysShowCommand,
} from './commands/replays.ts'
import { addSendCommand } from './commands/send.ts'
import { addSessionsEndAllCommand, addSessionsEndCommand, addSessionsListCommand } from './commands/sessions.ts'
import { addSignCommand } from './commands/sign.ts'
import { addSignInCommand } from './commands/sign-in.ts'
import { addVerifyCommand } from './commands/verify.ts'

/** Every command of `oncehook`. A new one is in the file of its group in `commands/`, and is a line here. */
const commandTable: readonly AddCommand[] = [
  addSendCommand,
  addSignCommand,
  addVerifyCommand,
  addExplainCommand,
  addDoctorCommand,
  addSignInCommand,
  addSessionsListCommand,
  addSessionsEndCommand,
  addSessionsEndAllCommand,
  addOverviewCommand,
  addEventsListCommand,
  addEventsShowCommand,
  addEventsReplayCommand,
  addEventsCloseCommand,
  addEventsReleaseCommand,
  addEventsTestCommand,
  addEraseCommand,
  addEncryptionRotateCommand,
  addKeysNewCommand,
  addKeysRotateCommand,
  addReplaysListCommand,
  addReplaysShowCommand,
  addReplaysCancelCommand,
  addReceiptsListCommand,
  addReceiptsReleaseCommand,
  addOrdersShowCommand,
  addOrdersCorrectCommand,
  addProvidersListCommand,
  addProvidersPauseCommand,
  addProvidersResumeCommand,
  addHandlersListCommand,
  addHandlersPauseCommand,
  addHandlersResumeCommand,
  addHandlersBackfillCommand,
  addHandlersDiscardCommand,
  addRefusedCommand,
  addAuditListCommand,
  addAuditVerifyCommand,
  addContractVerifyCommand,
  addContractShowCommand,
]

export function createProgram({ context, finish }: CommandDeps): Command {
  const program = new Command('oncehook')
    .description('Send signed payment events to Oncehook, inspect events and orders, and fix failures.')
    .configureOutput({ writeOut: context.write, writeErr: context.warn })
    .exitOverride()
  for (const addCommand of commandTable) addCommand(program, { context, finish })
  return program
}

/** Runs one command and returns the exit code of the process. Never throws. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  let exitCode: ExitCode = 0
  const finish = (code: ExitCode): void => {
    exitCode = code
  }
  const program = createProgram({ context, finish })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    return reportError(error, { context, json: args.includes('--json') })
  }
}

function reportError(error: unknown, { context, json }: { context: CliContext; json: boolean }): ExitCode {
  // Commander has already printed the message. Help is not an error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const summary = error instanceof Error ? error.message : String(error)
  if (error instanceof UsageError || error instanceof SigningError) {
    context.warn(`${summary}\n`)
    return 2
  }
  context.warn(error instanceof CommandFailure ? `${summary}\n` : `Unexpected error: ${summary}\n`)
  if (json) context.write(`${JSON.stringify({ result: 'failed', summary }, null, 2)}\n`)
  return 1
}
