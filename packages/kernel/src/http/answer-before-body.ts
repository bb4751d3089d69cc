import type { IncomingMessage, ServerResponse } from 'node:http'

const DRAIN_MS = 1_000
const DRAIN_BYTES = 8 * 1024 * 1024

/**
 * Sends an answer, whose status and headers are set, while the sender may still be sending: the whole answer goes out
 * first, what follows is dropped for a bounded while, then the connection closes. Closing at once would reset it, and
 * the sender would lose the answer.
 */
export async function answerBeforeBody(response: ServerResponse, body: Buffer): Promise<void> {
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
