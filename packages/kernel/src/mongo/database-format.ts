import type { Collection, Db } from 'mongodb'
import { SettingsError } from '../settings/settings.ts'

/** Changes when a service can no longer read what an earlier version has stored. */
const VERSION = 3

interface Format {
  readonly _id: 'format'
  readonly version: number
}

/** A collection that has documents in every database in use, and the setting that names the database. */
export interface UsedDatabase {
  readonly collection: string
  readonly setting: string
}

/**
 * Marks an empty database with the format of its documents, and refuses one with documents of another format.
 * @throws SettingsError
 */
export async function ensureFormat(db: Db, { collection, setting }: UsedDatabase): Promise<void> {
  const formats = db.collection<Format>('format')
  const read = () => formats.findOne({ _id: 'format' })
  let found = await read()
  if (found === null) {
    const isUsed = (await db.collection(collection).findOne({}, { projection: { _id: 1 } })) !== null
    if (!isUsed) await mark(formats)
    // Another process may have marked it in the meantime.
    found = await read()
  }
  if (found?.version === VERSION) return
  throw new SettingsError([`${setting} names a database of an earlier version: drop it, or name another one`])
}

async function mark(formats: Collection<Format>): Promise<void> {
  await formats.updateOne({ _id: 'format' }, { $setOnInsert: { version: VERSION } }, { upsert: true })
}
