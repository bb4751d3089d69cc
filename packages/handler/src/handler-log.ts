/** A line of the log. It contains no body and no secret; `error` is what a function or the database threw. */
export interface LogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  readonly key?: string
  readonly type?: string
  readonly name?: string
  readonly attempt?: number
  readonly error?: unknown
}

/** Writes a line of the log. It must not throw. */
export type WriteLog = (line: LogLine) => void

/** Creates a log that writes warnings and errors as JSON lines. */
export function createJsonLog(write: (text: string) => unknown): WriteLog {
  return ({ error, ...line }) => {
    if (line.level === 'info') return
    write(`${JSON.stringify(error === undefined ? line : { ...line, error: describeError(error) })}\n`)
  }
}

const MAX_REASON = 500

/** The name and the message of an error, in at most 500 characters. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : 'It threw something that is not an error'
  return text.slice(0, MAX_REASON)
}
