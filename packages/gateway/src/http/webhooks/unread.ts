import type { IncomingMessage } from 'node:http'
import type { AppError } from '@oncehook/kernel/errors'

const CLOSE = { headers: { Connection: 'close' } }

// Discarding this many bytes costs less than another connection.
const MOST_DISCARDED_BYTES = 65_536

/** Returns an error that also closes the connection if the unread body is large or has no announced length. */
export function unread(
  { complete, headers: { 'content-length': length } }: IncomingMessage,
  refusal: AppError,
): AppError {
  return complete || Number(length ?? Number.NaN) <= MOST_DISCARDED_BYTES ? refusal : refusal.with(CLOSE)
}
