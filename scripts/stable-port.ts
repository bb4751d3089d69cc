import { randomInt } from 'node:crypto'
import { freePort } from './port.ts'

/**
 * A free port for a service that is started on it later, perhaps killed and started again. It lies below the range from
 * which the system takes the ports of outgoing connections: while the service is down, a client that tries to reconnect
 * could be given the very port it is calling, and would find itself connected to itself.
 */
export async function stablePort(): Promise<number> {
  for (;;) {
    const port = await freePort(randomInt(10_000, 32_000))
    if (port !== undefined) return port
  }
}
