import type { Command } from 'commander'
import type { CliContext } from './cli-context.ts'
import type { ExitCode } from './exit-code.ts'

/** What a command gets: its context, and a function that sets the exit code (default: 0). */
export interface CommandDeps {
  readonly context: CliContext
  readonly finish: (code: ExitCode) => void
}

/** Adds one command, with its options and its action, to the program. */
export type AddCommand = (program: Command, deps: CommandDeps) => void
