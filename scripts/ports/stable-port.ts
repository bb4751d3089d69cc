import { randomInt } from 'node:crypto'
import { freePort } from './port.ts'

const FIRST = 10_000
const PARTS = 11
const PORTS_A_PART = 2_000

/**
 * A free port for a service that is started on it later, and that may be killed and started again. The port is below
 * the range that the system uses for outgoing connections. Otherwise, while the service is down, a reconnecting client
 * could get the same port that it is calling, and would connect to itself. Each worker of a test run has a separate
 * part of the range, because another worker could take the port before the service listens on it. For the same reason,
 * a process gets no port twice until it has had all of them.
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
