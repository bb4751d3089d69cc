import { EVENT_INDEXES, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Receiver, Setup } from '../receiver.ts'
import { describeSystem } from './describe-system.ts'
import { fillStored } from './fill-stored.ts'
import { storedOf } from './kept-by-oncehook.ts'
import { startService } from './service.ts'

/** The contents of a store before a measurement. */
export interface GrownStore {
  readonly database: string
  readonly records: number
  readonly template: EventDocument
}

/** Makes a store with the gateway's own indexes and this number of settled records, and keeps it. */
export async function growStore(setup: Setup, { database, records, template }: GrownStore): Promise<void> {
  const { gateway } = await describeSystem(setup, database)
  const env = { ...gateway.env, GATEWAY_DB: database }
  await (await startService({ ...gateway, env }))[Symbol.asyncDispose]()
  // The gateway makes most of them after it is ready. Made later, they would be built during the measurement.
  await ensureIndexes(setup.database(database), [EVENT_INDEXES])
  await fillStored(setup.database(database), { template, count: records })
  // Flush what filling has left to write, so that it does not disturb a measurement.
  await setup.database('admin').command({ fsync: 1 })
}

/** Starts the gateway alone on an existing store. The store remains when the gateway ends. */
export async function startOnStore(setup: Setup, database: string): Promise<Receiver> {
  const system = await describeSystem(setup, database)
  const gateway = await startService({ ...system.gateway, env: { ...system.gateway.env, GATEWAY_DB: database } })
  return {
    url: system.url,
    receiverPid: gateway.pid,
    keptOf: (eventIds) => storedOf(setup.database(database), eventIds),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  }
}
