import { forkWorker } from '../../fork-worker.ts'
import type { LoadReport } from '../../load/load-report.ts'
import { endChild } from '../end-child.ts'
import { findStored, type StoredEvent } from '../find-stored.ts'
import type { Setup } from '../receiver.ts'

/** `insertOne` with 64 in flight, or `insert` commands of 64 documents, one after the other. */
export type DriverWay = 'one by one' | 'in groups'

/** Commands to the driver's process, one at a time. */
export type DriverOrder = { readonly prepare: number } | { readonly way: DriverWay; readonly forMs: number }

/** The database driver alone, in a separate process and with a separate database. */
export interface Driver extends AsyncDisposable {
  readonly pid: number
  prepare(count: number): Promise<void>
  insert(way: DriverWay, forMs: number): Promise<LoadReport>
  /** Returns the ids that are stored. */
  keptOf(eventIds: readonly string[]): Promise<ReadonlySet<string>>
}

/** Starts a process that does nothing but insert. */
export async function startDriver({ mongoUri, database }: Setup, run: string): Promise<Driver> {
  const db = database(`driver_${run}`)
  const { child, ask } = await forkWorker<DriverOrder>(import.meta.resolve('./driver-process.ts'), {
    env: { ...process.env, NODE_ENV: 'production', DRIVER_MONGODB_URI: mongoUri, DRIVER_DB: db.databaseName },
  })
  return {
    pid: child.pid ?? 0,
    prepare: async (count) => void (await ask({ prepare: count })),
    insert: async (way, forMs) => (await ask({ way, forMs })) as LoadReport,
    keptOf: async (eventIds) => {
      const found = await findStored(db.collection<StoredEvent>('events'), {}, eventIds)
      return new Set(found.map(({ eventId }) => eventId))
    },
    async [Symbol.asyncDispose]() {
      await endChild(child)
      await db.dropDatabase()
    },
  }
}
