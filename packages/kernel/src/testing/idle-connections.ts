import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * Opens so many connections to an address, one after the other, and sends nothing. As soon as one is closed from the other
 * side, answers which are closed, by their place in the order.
 */
export async function findClosedConnections(url: string, count: number): Promise<number[]> {
  await using resources = new AsyncDisposableStack()
  const { port, hostname } = new URL(url)
  const closed = Promise.withResolvers<void>()
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const socket = resources.adopt(connect(Number(port), hostname), (one) => void one.destroy())
    socket.once('close', () => closed.resolve())
    await once(socket, 'connect')
    sockets.push(socket)
  }
  await closed.promise
  return sockets.flatMap(({ destroyed }, place) => (destroyed ? [place] : []))
}
