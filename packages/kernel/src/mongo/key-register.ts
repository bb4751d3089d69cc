import type { Db, Document, Filter } from 'mongodb'
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

/** What became of the keys that a rotation was to make superfluous. */
export interface RetiredKeys {
  /** The ids of the keys that the register has forgotten: no record needs them any more. */
  readonly retired: readonly string[]
  /** The ids of the other keys: a process has encrypted by them since the rotation began, or may do so still. */
  readonly inUse: readonly string[]
}

/** Records in a database which keys its records are encrypted with, so that a missing key is detected without a scan. */
export interface KeyRegister {
  /** Registers the current key unless this was done within the last minute. Call it regularly. */
  check(): Promise<void>
  /** The keys of this process, and those it lacks. */
  status(): Promise<KeyStatus>
  /** A rotation begins: of the keys by which no process encrypts now, those that none takes up again may be retired at its end. */
  beginRotation(): Promise<void>
  /**
   * A rotation has encrypted every record by this key: forgets those others that nobody has encrypted by since it began. Forgets none
   * where this process encrypts by another key.
   */
  retire(key: string): Promise<RetiredKeys>
}

/** A process that encrypts by a key. */
interface KeyUser {
  readonly id: string
  /** By the database's clock. */
  readonly at: Date
}

/** A key in use. */
interface RegisteredKey {
  readonly _id: string
  /** Uses the database clock. */
  readonly usedAt: Date
  /** The processes that encrypt by it; one that ended stays for some minutes. */
  readonly users?: readonly KeyUser[]
  /** A rotation has begun, and nobody has encrypted by this key since. */
  readonly isLeft?: boolean
}

const COLLECTION = 'encryption_keys'
// A process that still encrypts with a retired key registers it again.
const AGAIN_MS = 60_000
// A process that died has not noted its key twice.
const GONE_MS = 2 * AGAIN_MS

/** Dependencies of the register. `now` returns monotonic milliseconds. */
export interface KeyRegisterDeps {
  readonly db: Db
  readonly encryption: Encryption
  readonly now: () => number
  /** Names this process, as no other is named. */
  readonly processId: string
}

/** Opens the register of a database. */
export function createKeyRegister({ db, encryption, now, processId }: KeyRegisterDeps): KeyRegister {
  const register = db.collection<RegisteredKey>(COLLECTION)
  let noted: { readonly key: string; readonly at: number } | null = null
  const note = (key: string, users: Document, upsert: boolean): Promise<unknown> =>
    register.updateOne({ _id: key }, [{ $set: { usedAt: '$$NOW', users, isLeft: false } }], {
      ...{ upsert, writeConcern: MAJORITY },
    })
  const others = {
    $filter: { input: USERS, as: 'one', cond: { $and: [IS_LIVE, { $ne: ['$$one.id', { $literal: processId }] }] } },
  }
  const check = async (): Promise<void> => {
    const { firstKey: key } = encryption
    if (noted !== null && noted.key !== key) {
      await note(noted.key, others, false)
      noted = null
    }
    if (key === null || (noted !== null && now() - noted.at < AGAIN_MS)) return
    const at = now()
    await note(key, { $concatArrays: [others, [{ id: { $literal: processId }, at: '$$NOW' }]] }, true)
    noted = { key, at }
  }
  const idsOf = async (filter: Filter<RegisteredKey>): Promise<string[]> => {
    const found = await register.find(filter, { readConcern: 'majority' }).sort({ _id: 1 }).toArray()
    return found.map(({ _id }) => _id)
  }
  return {
    check,
    async status() {
      const known = encryption.keyIds
      const missing = (await idsOf({})).filter((id) => !known.includes(id))
      return { firstKey: encryption.firstKey, keys: known, missing }
    },
    async beginRotation() {
      await check()
      await register.updateMany({}, [{ $set: { isLeft: IS_UNUSED } }], { writeConcern: MAJORITY })
    },
    async retire(key) {
      await check()
      const isOther = { _id: { $ne: key } }
      const left = encryption.firstKey === key ? await idsOf({ ...isOther, isLeft: true, $expr: IS_UNUSED }) : []
      // Only while nobody takes it up again.
      await register.deleteMany({ _id: { $in: left }, isLeft: true }, { writeConcern: MAJORITY })
      const inUse = await idsOf(isOther)
      return { retired: left.filter((id) => !inUse.includes(id)), inUse }
    },
  }
}

const USERS = { $ifNull: ['$users', []] }
const IS_LIVE = { $gt: ['$$one.at', { $subtract: ['$$NOW', GONE_MS] }] }
const IS_UNUSED = { $eq: [{ $size: { $filter: { input: USERS, as: 'one', cond: IS_LIVE } } }, 0] }
