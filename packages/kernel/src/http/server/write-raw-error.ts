import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AppError } from '../../errors.ts'
import { ERROR_HEADERS, errorBody } from '../error-body.ts'

const LINGER_MS = 1_000

/**
 * Sends an error response without a parsed request, and ends the connection. Input is discarded for a moment, because
 * a reset would lose the response. Then the connection is closed in any case.
 */
export function writeRawError(socket: Duplex, refusal: AppError, requestId: string): void {
  const body = errorBody(refusal, requestId)
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    ...Object.entries(ERROR_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
  ]
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.on('error', () => socket.destroy())
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
  socket.resume()
}
