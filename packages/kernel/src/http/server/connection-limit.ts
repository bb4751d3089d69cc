import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Limits the number of open connections of a server and returns the open ones. Above the limit, the connection that
 * has been idle longest is closed, unless it has a complete request in progress. So nobody can lock others out by
 * holding connections. If all connections are busy, the new one is closed.
 */
export function limitConnections(
  server: Server,
  max: number,
  event: 'connection' | 'secureConnection' = 'connection',
): ReadonlySet<Socket> {
  // Ordered by last response, or by start.
  const open = new Set<Socket>()
  const latest = new WeakMap<Socket, IncomingMessage>()
  const isWaiting = (socket: Socket): boolean => latest.get(socket)?.complete !== true

  server.on(event, (socket: Socket) => {
    if (open.size >= max) {
      const idle = firstOf(open, isWaiting) ?? socket
      open.delete(idle)
      idle.destroy()
      if (idle === socket) return
    }
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    latest.set(socket, request)
    response.once('close', () => {
      if (latest.get(socket) !== request) return
      latest.delete(socket)
      if (open.delete(socket)) open.add(socket)
    })
  })
  return open
}

function firstOf<T>(values: Iterable<T>, isWanted: (value: T) => boolean): T | undefined {
  for (const value of values) if (isWanted(value)) return value
  return undefined
}
