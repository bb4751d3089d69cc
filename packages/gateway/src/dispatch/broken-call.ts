import { AppError } from '@oncehook/kernel/http/errors'

// The errors of a connection whose other side disappeared in the middle: from Node, from undici, and from a proxy in
// between.
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
const BAD_GATEWAY = 502
const DEEPEST = 8

/** Whether a call broke after it was sent: the other side disappeared, or gave no answer in time. */
export function isBrokenCall(thrown: unknown): boolean {
  if (thrown instanceof AppError && (thrown.details.status === BAD_GATEWAY || thrown.details.reason === 'timed_out')) {
    return true
  }
  let error = thrown
  for (let depth = 0; error instanceof Error && depth < DEEPEST; depth += 1) {
    if (error.name === 'TimeoutError' || ('code' in error && BROKEN.has(String(error.code)))) return true
    error = error.cause
  }
  return false
}
