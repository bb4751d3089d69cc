import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { freePort } from './port.ts'

const FIRST = 10_000
const COUNT = 22_000

/**
 * A free port for a service that is started on it later, and that may be killed and started again. The port is below
 * the range that the system uses for outgoing connections. Otherwise, while the service is down, a reconnecting client
 * could get the same port that it is calling, and would connect to itself. No process gets it until this one ends:
 * another one could take it before the service listens on it, and would be mistaken for the service.
 */
export async function stablePort(): Promise<number> {
  for (;;) {
    const port = FIRST + randomInt(COUNT)
    if ((await freePort(port)) !== undefined && (await reserve(port))) return port
  }
}

/** Binds the port of UDP, which nobody here uses: the system refuses it to every other process until this one ends. */
async function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref()
  socket.bind({ port, address: '127.0.0.1', exclusive: true })
  try {
    await once(socket, 'listening')
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
}
