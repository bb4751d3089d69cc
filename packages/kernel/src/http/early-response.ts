import type { IncomingMessage, ServerResponse } from 'node:http'

const DRAIN_MS = 1_000
const DRAIN_BYTES = 8 * 1024 * 1024

/**
 * Sends a response while the client may still be sending its request. The status and headers must be set. Writes the
 * whole response, discards further input within limits, then closes the connection. Closing at once would reset the
 * connection and lose the response.
 */
export async function sendEarlyResponse(response: ServerResponse, body: Buffer): Promise<void> {
  const { req: request } = response
  response.setHeader('Connection', 'close')
  response.setHeader('Content-Length', body.length)
  response.flushHeaders()
  if (request.method !== 'HEAD') response.write(body)
  await drain(request)
  response.end()
}

function drain(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    let bytes = 0
    const timer = setTimeout(end, DRAIN_MS)
    function end(): void {
      clearTimeout(timer)
      request.off('data', onData).off('end', end).off('close', end)
      resolve()
    }
    function onData(chunk: Buffer): void {
      bytes += chunk.length
      if (bytes > DRAIN_BYTES) end()
    }
    request.on('data', onData).on('end', end).on('close', end).resume()
  })
}
