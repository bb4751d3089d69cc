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
import { addAuditCommands } from './commands/audit.ts'
import { addContractCommands } from './commands/contract.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addEncryptionCommands } from './commands/encryption.ts'
import { addEraseCommand } from './commands/erase.ts'
import { addEventsCommands } from './commands/events.ts'
import { addExplainCommand } from './commands/explain.ts'
import { addHandlersCommands } from './commands/handlers.ts'
import { addKeysCommands } from './commands/keys.ts'
import { addOrdersCommands } from './commands/orders.ts'
import { addOverviewCommand } from './commands/overview.ts'
import { addProvidersCommands } from './commands/providers.ts'
import { addReceiptsCommands } from './commands/receipts.ts'
import { addRefusedCommand } from './commands/refused.ts'
import { addReplaysCommands } from './commands/replays.ts'
import { addSendCommand } from './commands/send.ts'
import { addSessionsCommands } from './commands/sessions.ts'
import { addSignCommand } from './commands/sign.ts'
import { addSignInCommand } from './commands/sign-in.ts'
import { addVerifyCommand } from './commands/verify.ts'

/** Every command and group of `oncehook`, in the order of the help. */
const commandTable: readonly AddCommand[] = [
  addSendCommand,
  addSignCommand,
  addVerifyCommand,
  addExplainCommand,
  addDoctorCommand,
  addSignInCommand,
  addSessionsCommands,
  addOverviewCommand,
  addEventsCommands,
  addEraseCommand,
  addEncryptionCommands,
  addKeysCommands,
  addReplaysCommands,
  addReceiptsCommands,
  addOrdersCommands,
  addProvidersCommands,
  addHandlersCommands,
  addRefusedCommand,
  addAuditCommands,
  addContractCommands,
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
