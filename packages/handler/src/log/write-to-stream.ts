import type { Writable } from 'node:stream'

/** What is known of a stream to which lines were written. */
interface StreamState {
  /** Lines that were dropped and not yet reported. */
  dropped: number
}

// Of UTF-16 code units or of bytes, whichever the stream counts.
const MOST_WAITING = 1_048_576
const states = new WeakMap<Writable, StreamState>()

/**
 * Writes a line to a stream that may fail, or that nobody reads. Neither ends the process: an error is ignored, and beyond 1 MiB
 * that waits, lines are dropped. As soon as the reader has caught up, a line says how many. The first call adds one listener
 * for errors; those of the application get them too.
 */
export function writeToStream(stream: Writable, line: string): void {
  const state = states.get(stream) ?? watch(stream)
  if (stream.writableLength + line.length <= MOST_WAITING) stream.write(line)
  else {
    if (state.dropped === 0) stream.once('drain', () => report(stream, state))
    state.dropped += 1
  }
}

function watch(stream: Writable): StreamState {
  const state = { dropped: 0 }
  states.set(stream, state)
  stream.on('error', () => undefined)
  return state
}

function report(stream: Writable, state: StreamState): void {
  const line = { level: 'warn', message: 'Lines of the log were dropped', lines: state.dropped }
  state.dropped = 0
  stream.write(`${JSON.stringify(line)}\n`)
}
