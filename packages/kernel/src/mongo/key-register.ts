import type { Db } from 'mongodb'
import type { Encryption } from '../encryption.ts'
import { MAJORITY } from './majority.ts'

/** The keys that something in a database may be encrypted by, beside those that a process has. */
interface KeyStatus {
  /** The id of the key that encrypts; null: nothing is encrypted. */
  readonly firstKey: string | null
  /** The ids of the keys that the process has. */
  readonly keys: readonly string[]
  /** The ids of keys that something is encrypted by, and that the process has not. */
  readonly missing: readonly string[]
}

/** Remembers in a database by which keys its records are encrypted, so that a missing key shows without a search. */
export interface KeyRegister {
  /** Notes the key that encrypts now, where that was not done within a minute. To be called regularly. */
  check(): Promise<void>
  /** What this process has, and what it lacks. */
  status(): Promise<KeyStatus>
  /** Forgets all keys but the first: no record is encrypted by another one any more. Resolves to the ids of those. */
  retire(): Promise<readonly string[]>
}

/** A key by which records are encrypted. */
interface RegisteredKey {
  readonly _id: string
  /** By the database's clock. */
  readonly usedAt: Date
}

const COLLECTION = 'encryption_keys'
// A process that still encrypts by a key after a rotation has forgotten it notes it again.
const AGAIN_MS = 60_000

/** What the register works with; `now` gives milliseconds on a clock that is never set back. */
export interface KeyRegisterDeps {
  readonly db: Db
  readonly encryption: Encryption
  readonly now: () => number
}

/** Opens the register of a database. */
export function createKeyRegister({ db, encryption, now }: KeyRegisterDeps): KeyRegister {
  const register = db.collection<RegisteredKey>(COLLECTION)
  let noted: { readonly key: string; readonly at: number } | null = null
  return {
    async check() {
      const { firstKey: key } = encryption
      if (key === null || (noted?.key === key && now() - noted.at < AGAIN_MS)) return
      const at = now()
      await register.updateOne(
        { _id: key },
        { $currentDate: { usedAt: true } },
        { upsert: true, writeConcern: MAJORITY },
      )
      noted = { key, at }
    },
    async status() {
      const known = encryption.keyIds
      const used = await register.find({}, { readConcern: 'majority' }).toArray()
      const missing = used.map(({ _id }) => _id).filter((id) => !known.includes(id))
      return { firstKey: encryption.firstKey, keys: known, missing }
    },
    async retire() {
      const { firstKey } = encryption
      if (firstKey === null) return []
      const others = await register.find({ _id: { $ne: firstKey } }).toArray()
      const ids = others.map(({ _id }) => _id)
      await register.deleteMany({ _id: { $in: ids } }, { writeConcern: MAJORITY })
      return ids
    },
  }
}
