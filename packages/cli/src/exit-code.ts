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
