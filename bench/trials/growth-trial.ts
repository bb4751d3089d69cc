import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import { growStore, startOnStore } from '../receivers/oncehook/oncehook-grown.ts'
import { settledTemplate } from '../receivers/oncehook/settled-template.ts'
import type { Setup } from '../receivers/receiver.ts'
import type { Effort, Trial, TrialRun } from '../trial.ts'
import { assess } from './assess.ts'
import { startDrive, warmUp } from './drive.ts'

/** The number of stored records, and whether all rounds share one store. Filling a large one takes a minute. */
export interface GrowthTrial {
  readonly name: string
  readonly title: string
  readonly records: (effort: Effort) => number
  readonly once: boolean
}

// Sign more deliveries than can be sent in the time, so that time ends the load.
const HEADROOM = 2

/** Measures how many deliveries per second the gateway accepts if this number of records is already stored. */
export function createGrowthTrial({ name, title, records, once }: GrowthTrial): Trial {
  const stores = new WeakMap<Setup, Promise<string>>()
  return {
    name,
    title,
    async run(given) {
      const { setup, run, effort, signal } = given
      const database = await ((once ? stores.get(setup) : undefined) ?? grow(given, records(effort)))
      if (once) stores.set(setup, Promise.resolve(database))
      try {
        await using receiver = await startOnStore(setup, database)
        using drive = await startDrive({ setup, receiver, signal })
        const count = Math.ceil((await warmUp(drive, given)) * (effort.measureMs / 1_000) * HEADROOM)
        const plan = { kind: 'closed', connections: effort.connections, forMs: effort.measureMs } as const
        return await assess(drive, receiver, await drive.load({ orderPrefix: `${run}-`, count, plan }))
      } finally {
        if (!once) await setup.database(database).dropDatabase()
      }
    },
  }
}

const templates = new WeakMap<Setup, Promise<EventDocument>>()

async function grow({ setup, run, signal }: TrialRun, records: number): Promise<string> {
  const pending = templates.get(setup) ?? settledTemplate(setup, { run: `${run}-template`, signal })
  templates.set(setup, pending)
  const database = `gateway_${run}`
  await growStore(setup, { database, records, template: await pending })
  return database
}
