import type { Writable } from 'node:stream'

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

export function createJsonLog(write: (text: string) => unknown): WriteLog {
  return ({ error, ...line }) => {
    if (line.level === 'info') return
    write(`${JSON.stringify(error === undefined ? line : { ...line, error: describeError(error) })}\n`)
  }
}

/** Creates a log that never throws, whatever the log of the user does: a line that cannot be written must end nothing. */
export function createGuardedLog(log: WriteLog): WriteLog {
  return (line) => {
    try {
      // An asynchronous function is assignable to it.
      const written: unknown = log(line)
      if (written instanceof Promise) written.catch(() => undefined)
    } catch {
      // There is nowhere to write it.
    }
  }
}

const MAX_REASON = 500
// Of each message: an error may have a text of any length, and this runs for every event.
const MAX_READ = 2_000
const MAX_CAUSES = 5
const UNDEFINED_TABLE = '42P01'

/**
 * The name and the message of an error and of its causes, in at most 500 characters. Control characters are left out, because
 * PostgreSQL does not store a NUL. So is the value that MongoDB adds to the error of a unique index. Never throws, even if the
 * properties of the error are no texts, or cannot be read.
 */
export function describeError(error: unknown): string {
  try {
    if (!(error instanceof Error)) return 'It threw something that is not an error'
    return describeChain(error, MAX_CAUSES)
      .replaceAll(/[\s\p{Cc}]+/gu, ' ')
      .trim()
      .slice(0, MAX_REASON)
  } catch {
    return 'It threw an error that cannot be read'
  }
}

function describeChain(error: Error, depth: number): string {
  const code = codeOf(error)
  const text = textOf(error.message).replace(/ dup key: .*/s, ' dup key') || code
  const advice = code === UNDEFINED_TABLE ? '; run npx @oncehook/handler init' : ''
  const { cause } = error
  const reason = cause instanceof Error && depth > 0 ? ` (${describeChain(cause, depth - 1)})` : ''
  return `${textOf(error.name)}: ${text}${advice}${reason}`
}

/** The code of an error, or of the first of several. Node.js puts one error for each address into an AggregateError. */
function codeOf(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return textOf(error.code)
  const [first] = error instanceof AggregateError ? error.errors : []
  return first instanceof Error && 'code' in first ? textOf(first.code) : ''
}

/** The beginning of a text; nothing if it is none. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_READ) : ''
}

// Of UTF-16 code units or of bytes, whichever the stream counts.
const MOST_WAITING = 1_048_576
const watched = new WeakSet<Writable>()

/**
 * Writes a line to a stream that may fail, or that nobody reads. Neither ends the process: an error is ignored, and beyond 1 MiB
 * that waits, lines are dropped. The first call adds one listener for errors; those of the application get them too.
 */
export function writeToStream(stream: Writable, line: string): void {
  if (!watched.has(stream)) stream.on('error', () => undefined)
  watched.add(stream)
  if (stream.writableLength + line.length <= MOST_WAITING) stream.write(line)
}
