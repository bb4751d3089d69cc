import { setTimeout as sleep } from 'node:timers/promises'
import { measureCommandRate } from '@oncehook/kernel/testing/profile'
import { startMeter } from '../measure/meter.ts'
import { describeSystem } from '../receivers/oncehook/describe-system.ts'
import { startService } from '../receivers/oncehook/service.ts'
import type { Setup } from '../receivers/receiver.ts'

/** How many gateways share a database, and for how long their commands are counted. */
interface Idling {
  readonly processes: number
  readonly seconds: number
}

/** What gateways cost per second while they have nothing to do: all of them together. */
export interface IdleFigures {
  readonly processes: number
  /** Commands that the database gets. */
  readonly commands: number
  /** Processor time of the gateways and of the database server, in microseconds. */
  readonly gatewayUs: number
  readonly mongodUs: number
}

// The work of a start is done by then, and the waits have grown.
const SETTLE_MS = 15_000

/** Starts gateways that have nothing to do, and measures what they cost. */
export async function measureIdle(setup: Setup, { processes, seconds }: Idling): Promise<IdleFigures> {
  await using stack = new AsyncDisposableStack()
  const run = `idle_${processes}`
  const { gatewayDb } = await describeSystem(setup, run)
  const pids: Record<string, number> = {}
  for (let started = 0; started < processes; started += 1) {
    const { gateway } = await describeSystem(setup, run)
    pids[`gateway ${started}`] = stack.use(await startService(gateway)).pid
  }
  await sleep(SETTLE_MS)
  const startedAt = performance.now()
  const meter = startMeter({ ...pids, mongod: setup.mongodPid })
  const commands = await measureCommandRate(setup.database(gatewayDb), seconds * 1_000)
  const { mongod = 0, ...gateways } = meter().processes
  const lasted = performance.now() - startedAt
  const usPerSecond = (ms: number): number => (ms * 1_000_000) / lasted
  const gatewayMs = Object.values(gateways).reduce((sum, ms) => sum + ms, 0)
  await stack.disposeAsync()
  await setup.database(gatewayDb).dropDatabase()
  return { processes, commands, gatewayUs: usPerSecond(gatewayMs), mongodUs: usPerSecond(mongod) }
}
