/** How a command ends: 0 done, 1 refused or failed, 2 wrong usage. */
export type ExitCode = 0 | 1 | 2

/** The command was called in a way that cannot be meant: exit 2. The message says what to change. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command was understood and could not be carried out: exit 1. The message says why, and what helps. */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure'
}
