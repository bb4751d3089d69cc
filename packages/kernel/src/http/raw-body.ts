import type { IncomingMessage } from 'node:http'
import { badRequest } from '../error-codes.ts'
import { tooLarge } from './body-headers.ts'
import { releaseBuffer } from './release-buffer.ts'
import { sendContinue } from './server/expect-continue.ts'

/** Observes a body while it arrives. */
export interface BodyWatch {
  /** Called with every chunk. An error thrown here stops the reading. */
  onBytes(count: number): void
  /** Receives a function that stops the reading from outside. */
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
