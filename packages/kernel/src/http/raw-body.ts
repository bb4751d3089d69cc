import type { IncomingMessage } from 'node:http'
import { badRequest, payloadTooLarge } from '../error-codes.ts'
import { sendContinue } from './expect-continue.ts'
import { freeBytes } from './free-bytes.ts'

/** Looks on while a body arrives. */
export interface BodyWatch {
  /** Hears of every chunk; an error that it throws ends the reading. */
  onBytes(count: number): void
  /** Is given the means to end the reading from outside. */
  onReading(end: (reason: Error) => void): void
}

/**
 * Reads the bytes of a request's body, at most `maxBytes` of them; a sender that waits for a 100 gets it now. What is
 * beyond is not buffered; the rest of a refused body is left unread, and the connection is to be closed after the answer.
 * @throws payloadTooLarge, or badRequest when the sender broke off, or what the watch says
 */
export function readRawBody(request: IncomingMessage, maxBytes: number, watch?: BodyWatch): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes))
  // A sender that went away earlier sends no more events: nothing would ever settle.
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
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      try {
        if (size > maxBytes) throw tooLarge(maxBytes)
        watch?.onBytes(chunk.length)
        chunks.push(chunk)
      } catch (reason) {
        refuse(reason)
      }
    }
    const onEnd = (): void => settle(() => resolve(joined(chunks)))
    const onBroken = (): void => settle(() => reject(brokenOff()))
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
    watch?.onReading(refuse)
  })
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  if (first !== undefined && chunks.length === 1) return first
  const whole = Buffer.concat(chunks)
  chunks.forEach(freeBytes)
  return whole
}

function brokenOff(): Error {
  return badRequest({ reason: 'body broken off' })
}

function tooLarge(maxBytes: number): Error {
  return payloadTooLarge({ maxBytes }, { headers: { Connection: 'close' } })
}
