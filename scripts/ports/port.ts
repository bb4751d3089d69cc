import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Whether anything accepts connections at `host:port`. */
export async function isListening(address: string): Promise<boolean> {
  const { hostname: host, port } = new URL(`tcp://${address}`)
  const socket = connect({ host, port: Number(port), timeout: 1_000 })
  try {
    return await new Promise((resolve) => {
      socket.on('connect', () => resolve(true))
      socket.on('error', () => resolve(false))
      socket.on('timeout', () => resolve(false))
    })
  } finally {
    socket.destroy()
  }
}

/** The port, if a server could listen there now; undefined if it is taken. */
export async function freePort(port: number, host = '127.0.0.1'): Promise<number | undefined> {
  const server = createServer()
  server.listen({ port, host, exclusive: true })
  try {
    await once(server, 'listening')
    return port
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined
    throw error
  } finally {
    server.close()
  }
}
