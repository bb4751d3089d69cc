// The bytes of a body. Nothing is read before somebody wants it: `100 Continue` is deferred until then, and a body that announces
// too many bytes or a coding is refused before. The memory of a large body that is refused is free at once.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { badRequest, payloadTooLarge, unsupportedMediaType } from '../error-codes.ts'
import type { AppError } from '../errors.ts'

export interface BodyWatch {
  /** Called with every chunk. An error thrown here stops the reading. */
  onBytes(count: number): void
  onReading(end: (reason: Error) => void): void
}

/**
 * Reads up to `maxBytes` of a request body, and sends a deferred 100 response. The rest of a body that is too large
 * is neither buffered nor read. Close the connection after the response.
 * @throws payloadTooLarge, badRequest if the client disconnects, or an error of the watch
 */
export function readRawBody(request: IncomingMessage, maxBytes: number, watch?: BodyWatch): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes))
  // The client disconnected earlier. No more events will arrive, so the promise would never settle.
  if (request.destroyed) return Promise.reject(brokenOff())
  sendContinue(request)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (end: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
      end()
    }
    const refuse = (reason: unknown): void => {
      request.pause()
      settle(() => reject(reason))
      chunks.forEach(releaseBuffer)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      try {
        if (size > maxBytes) throw tooLarge(maxBytes)
        watch?.onBytes(chunk.length)
      } catch (reason) {
        refuse(reason)
      }
    }
    // Taken out: a refusal that comes too late must not release what was returned.
    const onEnd = (): void => settle(() => resolve(joined(chunks.splice(0))))
    const onBroken = (): void => refuse(brokenOff())
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
    watch?.onReading(refuse)
  })
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  if (first !== undefined && chunks.length === 1) return first
  const whole = Buffer.concat(chunks)
  chunks.forEach(releaseBuffer)
  return whole
}

const brokenOff = (): Error => badRequest({ reason: 'body broken off' })

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
function tooLarge(maxBytes: number): AppError {
  return payloadTooLarge({ maxBytes }, { headers: { Connection: 'close' } })
}

const WORTH_BYTES = 16_384

/**
 * Releases the memory of a large buffer at once. The buffer is empty afterwards, so nothing may use it any more.
 * Otherwise a flood of large bodies triggers garbage collection dozens of times per second. A buffer that shares its
 * memory is left alone.
 */
export function releaseBuffer({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < WORTH_BYTES || buffer.byteLength !== byteLength || !(buffer instanceof ArrayBuffer)) return
  buffer.transfer(0)
}

const waiting = new WeakMap<IncomingMessage, ServerResponse>()

/**
 * Defers the 100 response (RFC 9110 section 10.1.1) until the body is wanted. If the final response comes first, Node
 * closes the connection, because further input could be the body or the next request.
 */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response)
}

/** Sends the deferred 100 response, if any. Call this before reading the body. */
function sendContinue(request: IncomingMessage): void {
  const response = waiting.get(request)
  waiting.delete(request)
  if (response?.headersSent === false) response.writeContinue()
}
