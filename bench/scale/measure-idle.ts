import { setTimeout as sleep } from 'node:timers/promises'
import { measureCommandRate } from '@oncehook/kernel/testing/profile'
import { describeSystem } from '../receivers/oncehook/describe-system.ts'
import { startService } from '../receivers/oncehook/service.ts'
import type { Setup } from '../receivers/receiver.ts'

/** How many gateways share a database, and for how long their commands are counted. */
interface Idling {
  readonly processes: number
  readonly seconds: number
}

// The work of a start is done by then, and the waits have grown.
const SETTLE_MS = 15_000

/** Starts gateways that have nothing to do. Resolves to the commands that the database gets from all of them per second. */
export async function measureIdle(setup: Setup, { processes, seconds }: Idling): Promise<number> {
  await using stack = new AsyncDisposableStack()
  const run = `idle_${processes}`
  const { gatewayDb } = await describeSystem(setup, run)
  for (let started = 0; started < processes; started += 1) {
    const { gateway } = await describeSystem(setup, run)
    stack.use(await startService(gateway))
  }
  await sleep(SETTLE_MS)
  const perSecond = await measureCommandRate(setup.database(gatewayDb), seconds * 1_000)
  await stack.disposeAsync()
  await setup.database(gatewayDb).dropDatabase()
  return perSecond
}
