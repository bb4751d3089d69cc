import type { Db } from 'mongodb'
import type { Encryption } from '../encryption.ts'
import { MAJORITY } from './majority.ts'

/** The encryption keys of a process and of a database. */
interface KeyStatus {
  /** Id of the key that encrypts; null if encryption is off. */
  readonly firstKey: string | null
  /** Ids of the keys of this process. */
  readonly keys: readonly string[]
  /** Ids of keys in use in the database that the process lacks. */
  readonly missing: readonly string[]
}

/** Records in a database which keys its records are encrypted with, so that a missing key is detected without a scan. */
export interface KeyRegister {
  /** Registers the current key unless this was done within the last minute. Call it regularly. */
  check(): Promise<void>
  /** The keys of this process, and those it lacks. */
  status(): Promise<KeyStatus>
  /** Removes all keys except the first, once no record is encrypted with them. Resolves to the removed ids. */
  retire(): Promise<readonly string[]>
}

/** A key in use. */
interface RegisteredKey {
  readonly _id: string
  /** Uses the database clock. */
  readonly usedAt: Date
}

const COLLECTION = 'encryption_keys'
// A process that still encrypts with a retired key registers it again.
const AGAIN_MS = 60_000

/** Dependencies of the register. `now` returns monotonic milliseconds. */
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
