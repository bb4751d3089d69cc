import { AppError } from '@oncehook/kernel/http/errors'

// The errors of a connection whose other side disappeared in the middle: from Node, from undici, and from a proxy in
// between.
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
const BAD_GATEWAY = 502
const DEEPEST = 8

/**
 * Whether a call failed because the other side disappeared after it was sent. An answer or a timeout does not count.
 */
export function isBrokenConnection(thrown: unknown): boolean {
  if (thrown instanceof AppError && thrown.details.status === BAD_GATEWAY) return true
  let error = thrown
  for (let depth = 0; error instanceof Error && depth < DEEPEST; depth += 1) {
    if ('code' in error && BROKEN.has(String(error.code))) return true
    error = error.cause
  }
  return false
}
