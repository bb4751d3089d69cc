// What a command is made of: its context, its exit code and its two kinds of errors.
// Each file in `commands/` adds one command, or all commands of one group. `run-cli.ts` lists them.

import type { Command } from 'commander'

/** What a command gets: its context, and a function that sets the exit code (default: 0). */
export interface CommandDeps {
  readonly context: CliContext
  readonly finish: (code: ExitCode) => void
}

export type AddCommand = (program: Command, deps: CommandDeps) => void

/** The external dependencies of the commands. `main.ts` provides the real ones. */
export interface CliContext {
  readonly fetch: typeof fetch
  /** Milliseconds since 1970, with fractions. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** A new random id of letters and digits. */
  readonly randomId: () => string
  readonly readStdin: () => Promise<Buffer>
  /** Reads an environment variable named by an option or a setting. */
  readonly readEnv: (name: string) => string | undefined
  /** Writes to standard output. With `--json`, a command writes one document and nothing else. */
  readonly write: (text: string | Uint8Array) => void
  readonly warn: (text: string) => void
  /** The folder in which `npm start` describes the running system. */
  readonly dataFolder: string
  /** The token of an operator, from `ONCEHOOK_OPERATOR_TOKEN`. */
  readonly operatorToken: string | undefined
  readonly writesToTerminal: boolean
  readonly hasTerminal: boolean
  /** Asks the user for a line; null without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | null
  /** Calls the listener on Ctrl-C, instead of exiting, until the returned function is called. */
  readonly onInterrupt: (listener: () => void) => () => void
}

/** The exit code of a command: 0 done, 1 refused or failed, 2 wrong usage. */
export type ExitCode = 0 | 1 | 2

/** Wrong usage of a command: exit code 2. The message describes the correction. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A valid command that failed: exit code 1. The message gives the reason and, if possible, the fix. */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure'
}
