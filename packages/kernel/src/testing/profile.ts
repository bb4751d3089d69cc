import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from 'mongodb'

interface Examined {
  readonly plan: string
  readonly keys: number
  readonly documents: number
}

export interface Profile extends AsyncDisposable {
  /** The queries of a collection, in order. */
  examined(collection: string): Promise<Examined[]>
}

/** Profiles every command of a database until this is disposed of. */
export async function startProfile(db: Db): Promise<Profile> {
  await db.command({ profile: 2 })
  return {
    async examined(collection) {
      const searches = { ns: `${db.databaseName}.${collection}`, keysExamined: { $exists: true } }
      const noted = await db.collection('system.profile').find(searches).sort({ ts: 1 }).toArray()
      return noted.map(({ planSummary, keysExamined, docsExamined }) => {
        return { plan: planSummary, keys: keysExamined, documents: docsExamined }
      })
    },
    async [Symbol.asyncDispose]() {
      await db.command({ profile: 0 })
      await db.dropCollection('system.profile')
    },
  }
}

/**
 * Counts the commands that processes of this project send to a database within a time. Resolves to their number per
 * second of the time that really passed, so that a slow machine counts no more of them. The profiler does not see
 * `hello`.
 */
export async function measureCommandRate(db: Db, ms: number): Promise<number> {
  await using _ = await startProfile(db)
  const startedAt = performance.now()
  await sleep(ms)
  const commands = await db.collection('system.profile').countDocuments({ appName: /^oncehook/ })
  return (commands * 1_000) / (performance.now() - startedAt)
}
