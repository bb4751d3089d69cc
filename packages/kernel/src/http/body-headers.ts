import type { IncomingMessage } from 'node:http'
import { payloadTooLarge, unsupportedMediaType } from '../error-codes.ts'
import type { AppError } from '../errors.ts'

type Headed = Pick<IncomingMessage, 'headers'>

/**
 * Refuses a request that announces a larger body, before anything of the body is read.
 * @throws payloadTooLarge
 */
export function refuseLargeBody({ headers }: Headed, maxBytes: number): void {
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

/**
 * Refuses a body with a content coding.
 * @throws unsupportedMediaType
 */
export function refuseEncodedBody({ headers }: Headed): void {
  const coding = headers['content-encoding']
  if (coding === undefined || coding.toLowerCase() === 'identity') return
  throw unsupportedMediaType({}, { headers: { 'Accept-Encoding': 'identity', Connection: 'close' } })
}

/** The error for a body of more than `maxBytes`. The rest of it is not read, so the connection is closed. */
export function tooLarge(maxBytes: number): AppError {
  return payloadTooLarge({ maxBytes }, { headers: { Connection: 'close' } })
}
