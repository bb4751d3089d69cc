import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import { growStore, startOnStore } from '../subjects/oncehook-grown.ts'
import { settledTemplate } from '../subjects/settled-template.ts'
import type { Laboratory } from '../subjects/subject.ts'
import type { Effort, Trial, TrialRun } from '../trial.ts'
import { assess } from './assess.ts'
import { startDrive, warmUp } from './drive.ts'

/** How many records are there, and whether the store is made once for all rounds: filling a large one takes a minute. */
export interface GrowthTrial {
  readonly name: string
  readonly title: string
  readonly records: (effort: Effort) => number
  readonly once: boolean
}

// More than can be sent in the time, so that time ends the load.
const HEADROOM = 2

/** Measures how many deliveries a second the gateway accepts when so many records are stored already. */
export function createGrowthTrial({ name, title, records, once }: GrowthTrial): Trial {
  const stores = new WeakMap<Laboratory, Promise<string>>()
  return {
    name,
    title,
    async run(given) {
      const { laboratory, run, effort, signal } = given
      const database = await ((once ? stores.get(laboratory) : undefined) ?? grow(given, records(effort)))
      if (once) stores.set(laboratory, Promise.resolve(database))
      try {
        await using subject = await startOnStore(laboratory, database)
        using drive = await startDrive({ laboratory, subject, signal })
        const count = Math.ceil((await warmUp(drive, given)) * (effort.measureMs / 1_000) * HEADROOM)
        const plan = { kind: 'closed', connections: effort.connections, forMs: effort.measureMs } as const
        return await assess(drive, subject, await drive.load({ orderPrefix: `${run}-`, count, plan }))
      } finally {
        if (!once) await laboratory.database(database).dropDatabase()
      }
    },
  }
}

const templates = new WeakMap<Laboratory, Promise<EventDocument>>()

async function grow({ laboratory, run, signal }: TrialRun, records: number): Promise<string> {
  const pending = templates.get(laboratory) ?? settledTemplate(laboratory, { run: `${run}-template`, signal })
  templates.set(laboratory, pending)
  const database = `gateway_${run}`
  await growStore(laboratory, { database, records, template: await pending })
  return database
}
