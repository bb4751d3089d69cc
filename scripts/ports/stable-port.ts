import { randomInt } from 'node:crypto'
import { freePort } from './port.ts'

const FIRST = 10_000
const PARTS = 11
const PORTS_A_PART = 2_000

/**
 * A free port for a service that is started on it later, perhaps killed and started again. It lies below the range from
 * which the system takes the ports of outgoing connections: while the service is down, a client that tries to reconnect
 * could be given the very port it is calling, and would find itself connected to itself. Each worker of a test run has a
 * part of the range to itself: another could take the port before the service listens there. For the same reason a process
 * gets no port twice, until it has had all of them.
 */
export async function stablePort(env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const first = FIRST + (Number(env.VITEST_POOL_ID ?? 0) % PARTS) * PORTS_A_PART
  for (;;) {
    next = (next + 1) % PORTS_A_PART
    const port = await freePort(first + next)
    if (port !== undefined) return port
  }
}

let next = randomInt(PORTS_A_PART)
