import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Returns what retires the connections that are open when it is called: each ends with its next answer. None is closed at
 * once, for a request may be on its way there.
 */
export function retireConnections(server: Server, open: ReadonlySet<Socket>): () => void {
  const retired = new WeakSet<Socket>()
  // Before the handler, which may write the head at once.
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (retired.has(socket)) response.shouldKeepAlive = false
  })
  return () => {
    for (const socket of open) retired.add(socket)
  }
}
