import { stablePort } from '../../scripts/ports/stable-port.ts'
import { keptByNaive, spawnNaive } from './baselines/naive.ts'
import { endChild } from './end-child.ts'
import { describeSystem } from './oncehook/describe-system.ts'
import { storedOf } from './oncehook/kept-by-oncehook.ts'
import { spawnService } from './oncehook/service.ts'
import type { Setup } from './receiver.ts'

/** A receiver that can be restarted on its existing database. */
export interface Startable extends AsyncDisposable {
  readonly url: string
  /** Starts its process and does not wait until it is ready. */
  begin(): { readonly pid: number; end(): Promise<void> }
  keptOf(eventIds: readonly string[]): Promise<ReadonlySet<string>>
}

/** The naive receiver on its own port. */
export async function openNaive(setup: Setup, run: string): Promise<Startable> {
  const database = `naive_${run}`
  const port = await stablePort()
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    begin() {
      const child = spawnNaive(setup, { database, looksUp: false, port })
      return { pid: child.pid ?? 0, end: () => endChild(child) }
    },
    keptOf: (eventIds) => keptByNaive(setup, database, eventIds),
    [Symbol.asyncDispose]: async () => void (await setup.database(database).dropDatabase()),
  }
}

/** The gateway on its own port. Fulfilment is unavailable: deliveries do not depend on it. */
export async function openGateway(setup: Setup, run: string): Promise<Startable> {
  const system = await describeSystem(setup, run)
  const db = setup.database(system.gatewayDb)
  return {
    url: system.url,
    begin() {
      const service = spawnService(system.gateway)
      return { pid: service.pid, end: async () => service[Symbol.asyncDispose]() }
    },
    keptOf: (eventIds) => storedOf(db, eventIds),
    [Symbol.asyncDispose]: async () => void (await db.dropDatabase()),
  }
}
