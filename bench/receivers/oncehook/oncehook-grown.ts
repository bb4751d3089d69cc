import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import type { Receiver, Setup } from '../receiver.ts'
import { describeSystem } from './describe-system.ts'
import { fillStored } from './fill-stored.ts'
import { storedOf } from './kept-by-oncehook.ts'
import { startService } from './service.ts'

/** What a store holds before anything is measured. */
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
  await fillStored(setup.database(database), { template, count: records })
  // What filling left to be written belongs to no measurement.
  await setup.database('admin').command({ fsync: 1 })
}

/** Starts the gateway alone on a store that is there, and leaves the store when it ends. */
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
