import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * Opens a number of connections to an address, one after the other, and sends nothing. As soon as the server closes
 * one, resolves to the indexes of the closed ones.
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
