import { ensureIndexes, type NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { type Collection, type Db, MongoServerError } from 'mongodb'
import { EVENT_INDEXES, EVENTS, KEY_INDEX, TASK_KEY_INDEX } from '../event-document.ts'

/**
 * Makes the indexes of a collection with tasks of handlers, or those of `needed`. The first time, the new unique index is created before the
 * old one is dropped, so that the deduplication never stops. It is safe to repeat, and for several processes at a time.
 * @throws SettingsError
 */
export async function ensureTaskIndexes(db: Db, needed: NeededIndexes = EVENT_INDEXES): Promise<void> {
  const events = db.collection(EVENTS)
  await ensureIndexes(db, [{ collection: EVENTS, indexes: [TASK_KEY_INDEX] }])
  // A gateway without handlers that starts at the same moment may create the old one again.
  do {
    if (await hasUnique(events, KEY_INDEX.name)) await drop(events, KEY_INDEX.name)
    await ensureIndexes(db, [needed])
  } while (await hasUnique(events, KEY_INDEX.name))
}

const NAMESPACE_NOT_FOUND = 26
const INDEX_NOT_FOUND = 27

async function hasUnique(events: Collection, wanted: string): Promise<boolean> {
  try {
    return (await events.indexes()).some(({ name, unique }) => unique === true && name === wanted)
  } catch (error) {
    if (hasCode(error, NAMESPACE_NOT_FOUND)) return false
    throw error
  }
}

async function drop(events: Collection, name: string): Promise<void> {
  try {
    await events.dropIndex(name)
  } catch (error) {
    // Another process was faster.
    if (!hasCode(error, INDEX_NOT_FOUND)) throw error
  }
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof MongoServerError && error.code === code
}
