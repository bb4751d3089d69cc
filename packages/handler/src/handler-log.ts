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
const MAX_CAUSES = 5
const UNDEFINED_TABLE = '42P01'

/**
 * The name and the message of an error and of its causes, in at most 500 characters. Control characters are left out, because
 * PostgreSQL does not store a NUL. So is the value that MongoDB adds to the error of a unique index.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'It threw something that is not an error'
  return describeChain(error, MAX_CAUSES)
    .replaceAll(/\s*\p{Cc}+\s*/gu, ' ')
    .trim()
    .slice(0, MAX_REASON)
}

function describeChain(error: Error, depth: number): string {
  const { name, message, cause } = error
  const code = codeOf(error)
  const text = message.replace(/ dup key: .*/s, ' dup key') || code
  const advice = code === UNDEFINED_TABLE ? '; run npx @oncehook/handler init' : ''
  const reason = cause instanceof Error && depth > 0 ? ` (${describeChain(cause, depth - 1)})` : ''
  return `${name}: ${text}${advice}${reason}`
}

/** The code of an error, or of the first of several. Node.js puts one error for each address into an AggregateError. */
function codeOf(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code
  const [first] = error instanceof AggregateError ? error.errors : []
  return first instanceof Error && 'code' in first ? String(first.code) : ''
}
