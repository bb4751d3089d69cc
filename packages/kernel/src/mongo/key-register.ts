import type { Db, Document, Filter } from 'mongodb'
import { Counter, type Registry } from 'prom-client'
import { addPolledGauges } from '../log/polled-gauges.ts'
import type { Encryption } from '../secrets/encryption.ts'
import { MAJORITY } from './majority.ts'

interface KeyUser {
  readonly id: string
  /** By the database's clock. */
  readonly at: Date
  /** It encrypts by another key since then. Absent: it still encrypts by this one. */
  readonly hasLeft?: boolean
}

/** A key in use. A process that has left it counts for half a minute. */
interface RegisteredKey {
  readonly _id: string
  /** Uses the database clock. */
  readonly usedAt: Date
  /** The processes that encrypt by it; one that ended stays for some minutes. */
  readonly users?: readonly KeyUser[]
  /** A rotation has begun, and nobody has encrypted by this key since. */
  readonly isLeft?: boolean
  /** The name of the rotation that has begun last. */
  readonly rotation?: string
}

const COLLECTION = 'encryption_keys'
// A process that still encrypts with a retired key registers it again.
const AGAIN_MS = 60_000
// A process that died has not noted its key twice.
const GONE_MS = 2 * AGAIN_MS
// What was encrypted before a change of keys may be written after it. No write takes as long as this.
const LEAVING_MS = 30_000
const SEARCH_MS = 4_000

/** Dependencies of the register. `now` returns monotonic milliseconds. */
export interface KeyRegisterDeps {
  readonly db: Db
  readonly encryption: Encryption
  readonly now: () => number
  /** Names this process, as no other is named. */
  readonly processId: string
}

export interface RetiredKeys {
  readonly retired: readonly string[]
  readonly inUse: readonly string[]
}

export type KeyRegister = ReturnType<typeof createKeyRegister>

/** Records in a database which keys encrypt its records, so that a missing key is detected without a scan. */
export function createKeyRegister({ db, encryption, now, processId }: KeyRegisterDeps) {
  const register = db.collection<RegisteredKey>(COLLECTION)
  let noted: { readonly key: string; readonly at: number } | null = null
  const note = (key: string, users: Document, upsert: boolean): Promise<unknown> =>
    register.updateOne({ _id: key }, [{ $set: { usedAt: '$$NOW', users, isLeft: false } }], {
      ...{ upsert, writeConcern: MAJORITY },
    })
  const others = {
    $filter: { input: USERS, as: 'one', cond: { $and: [IS_LIVE, { $ne: ['$$one.id', { $literal: processId }] }] } },
  }
  const own = { id: { $literal: processId }, at: '$$NOW' }
  const checkOnce = async (): Promise<void> => {
    const { firstKey: key } = encryption
    if (noted !== null && noted.key !== key) {
      await note(noted.key, { $concatArrays: [others, [{ ...own, hasLeft: true }]] }, false)
      noted = null
    }
    if (key === null || (noted !== null && now() - noted.at < AGAIN_MS)) return
    const at = now()
    await note(key, { $concatArrays: [others, [own]] }, true)
    noted = { key, at }
  }
  let last = Promise.resolve()
  // One after the other: a late note of leaving a key must not follow one of taking it up again.
  const check = (): Promise<void> => {
    last = last.then(checkOnce, checkOnce)
    return last
  }
  const idsOf = async (filter: Filter<RegisteredKey>): Promise<readonly string[]> => {
    const options = { readConcern: 'majority', maxTimeMS: SEARCH_MS } as const
    const found = await register.find(filter, options).sort({ _id: 1 }).toArray()
    return found.map(({ _id }) => _id)
  }
  const missing = async (): Promise<readonly string[]> => {
    const known = encryption.keyIds
    return (await idsOf({})).filter((id) => !known.includes(id))
  }
  return {
    /** Registers the current key unless this was done within the last minute. Call it regularly. */
    check,
    /**
     * The id of the key that encrypts, null if encryption is off; the keys of this process; those in use in the database that it
     * lacks; and those by which a process has just ceased to encrypt. Registers the current key first.
     */
    async status() {
      await check()
      const { firstKey, keyIds: keys } = encryption
      return { firstKey, keys, missing: await missing(), leaving: await idsOf({ $expr: IS_BEING_LEFT }) }
    },
    /** Ids of keys in use in the database that the process lacks. Changes nothing. */
    missing,
    /**
     * Begins the rotation of this name. At its end, it may retire the keys that no process encrypts with or is leaving now, unless a
     * process uses them again.
     */
    async beginRotation(rotation: string): Promise<void> {
      await check()
      const begun = { isLeft: IS_UNUSED, rotation: { $literal: rotation } }
      await register.updateMany({}, [{ $set: begun }], { writeConcern: MAJORITY })
    },
    /**
     * Ends the rotation of this name, which has encrypted every record with this key: forgets the other keys that no process has
     * encrypted with since it began. Forgets none if this process encrypts with another key, or if another rotation has begun
     * since. `inUse`: the keys that a process has encrypted by since then, or may do so still.
     */
    async retire(key: string, rotation: string): Promise<RetiredKeys> {
      await check()
      const isOther = { _id: { $ne: key } }
      const isLeft = { isLeft: true, rotation: { $eq: rotation } }
      const left = encryption.firstKey === key ? await idsOf({ ...isOther, ...isLeft, $expr: IS_UNUSED }) : []
      // Only while nobody takes it up again.
      await register.deleteMany({ _id: { $in: left }, ...isLeft }, { writeConcern: MAJORITY })
      const inUse = await idsOf(isOther)
      return { retired: left.filter((id) => !inUse.includes(id)), inUse }
    },
  }
}

const USERS = { $ifNull: ['$users', []] }
const HAS_LEFT = { $eq: ['$$one.hasLeft', true] }
const IS_LIVE = { $gt: ['$$one.at', { $subtract: ['$$NOW', { $cond: [HAS_LEFT, LEAVING_MS, GONE_MS] }] }] }
const IS_UNUSED = { $eq: [countUsers(IS_LIVE), 0] }
const IS_BEING_LEFT = { $gt: [countUsers({ $and: [IS_LIVE, HAS_LEFT] }), 0] }

function countUsers(cond: Document): Document {
  return { $size: { $filter: { input: USERS, as: 'one', cond } } }
}

/**
 * Adds a gauge of the encryption keys that records need and this process lacks. It stays above 0 as long as one is missing,
 * whether or not anybody reads such a record.
 */
export function addMissingKeysGauge(registry: Registry, register: Pick<KeyRegister, 'missing'>): void {
  addPolledGauges(registry, () => register.missing(), [
    {
      name: 'oncehook_encryption_keys_missing',
      help: 'Encryption keys that records of the database need and this process does not have',
      read: (missing) => missing.length,
    },
  ])
}

/** Creates the counter `oncehook_unknown_encryption_keys_total` in a registry. Each call of the result counts one. */
export function createUnknownKeys(registry: Registry): () => void {
  const unknown = new Counter({
    name: 'oncehook_unknown_encryption_keys_total',
    help: 'Reads of encrypted records that failed because the encryption key is missing (key_unknown)',
    registers: [registry],
  })
  return () => unknown.inc()
}
