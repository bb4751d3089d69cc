import type { Db } from 'mongodb'

/** What a search of the database looked at. */
interface Examined {
  readonly plan: string
  readonly keys: number
  readonly documents: number
}

/** What has been searched since the profile was started. */
export interface Profile extends AsyncDisposable {
  /** The searches of a collection, in order. */
  examined(collection: string): Promise<Examined[]>
}

/** Lets the server note every command of a database until this is disposed of. */
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
