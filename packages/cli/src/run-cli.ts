import { SigningError } from '@oncehook/webhooks/signing/signer'
import { Command, CommanderError } from 'commander'
import type { CliContext } from './cli-context.ts'
import { commandTable } from './command-table.ts'
import { CommandFailure, type ExitCode, UsageError } from './exit-code.ts'

/** Runs one command and returns the exit code of the process. Never throws. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  let exitCode: ExitCode = 0
  const program = new Command('oncehook')
    .description('Send signed payment events to Oncehook, inspect events and orders, and fix failures.')
    .configureOutput({ writeOut: context.write, writeErr: context.warn })
    .exitOverride()
  const finish = (code: ExitCode): void => {
    exitCode = code
  }
  for (const addCommand of commandTable) addCommand(program, { context, finish })
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
