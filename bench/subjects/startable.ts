import { stablePort } from '../../scripts/stable-port.ts'
import { describeSystem } from './describe-system.ts'
import { endChild } from './end-child.ts'
import { storedOf } from './kept-by-oncehook.ts'
import { keptByNaive, spawnNaive } from './naive.ts'
import { spawnService } from './service.ts'
import type { Laboratory } from './subject.ts'

/** A receiver that can be begun again on the database that it has. */
export interface Startable extends AsyncDisposable {
  readonly url: string
  /** Begins its process and does not wait for it. */
  begin(): { readonly pid: number; end(): Promise<void> }
  keptOf(eventIds: readonly string[]): Promise<ReadonlySet<string>>
}

/** The naive receiver at a port of its own. */
export async function openNaive(laboratory: Laboratory, run: string): Promise<Startable> {
  const database = `naive_${run}`
  const port = await stablePort()
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    begin() {
      const child = spawnNaive(laboratory, { database, looksUp: false, port })
      return { pid: child.pid ?? 0, end: () => endChild(child) }
    },
    keptOf: (eventIds) => keptByNaive(laboratory, database, eventIds),
    [Symbol.asyncDispose]: async () => void (await laboratory.database(database).dropDatabase()),
  }
}

/** The gateway at a port of its own; fulfilment is away, as a delivery must not care. */
export async function openGateway(laboratory: Laboratory, run: string): Promise<Startable> {
  const system = await describeSystem(laboratory, run)
  const db = laboratory.database(system.gatewayDb)
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
