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

/** Whether a server could listen there now. 0 stands for any free port; the answer is the port, or undefined when it is taken. */
export async function freePort(port: number, host = '127.0.0.1'): Promise<number | undefined> {
  const server = createServer()
  server.listen({ port, host, exclusive: true })
  try {
    await once(server, 'listening')
    const address = server.address()
    return typeof address === 'object' ? address?.port : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined
    throw error
  } finally {
    server.close()
  }
}
