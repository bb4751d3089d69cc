import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Returns a function that retires all open connections: each closes after its next response. None is closed at once,
 * because a request may already be in transit.
 */
export function retireConnections(server: Server, open: ReadonlySet<Socket>): () => void {
  const retired = new WeakSet<Socket>()
  // Must run before the handler, which may send headers at once.
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (retired.has(socket)) response.shouldKeepAlive = false
  })
  return () => {
    for (const socket of open) retired.add(socket)
  }
}
