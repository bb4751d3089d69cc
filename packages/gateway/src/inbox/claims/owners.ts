import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Db } from 'mongodb'
import { positiveOr } from '../record-expressions.ts'

/** A process that holds claims, and when it last wrote that it was alive, by the database's clock. */
interface OwnerDocument {
  readonly _id: string
  readonly aliveAt: Date
  /** The length of its leases, in milliseconds. After a change of `LEASE_MS` it differs from the reader's. */
  readonly leaseMs: number
}

const OWNERS = 'owners'
const DAY_SECONDS = 86_400

/** The owners of claims. An owner that has been silent for a day is removed. */
export const OWNER_INDEXES: NeededIndexes = {
  collection: OWNERS,
  indexes: [{ name: 'silent', key: { aliveAt: 1 }, expireAfterSeconds: DAY_SECONDS }],
}

/** Dependencies of the owners. */
export interface OwnersDeps {
  readonly db: Db
  /** This process. */
  readonly owner: string
  readonly leaseMs: number
  /** Milliseconds that never go backwards. */
  readonly monotonicMs: () => number
}

/**
 * Finds out which processes are alive: during an outage of the database, leases expire without any death. A process
 * that was held up shows by its next beat that it is alive. Then its losses were not deaths.
 */
export interface Owners {
  /** Writes that this process is alive. Call it three times during a lease. */
  beat(): Promise<void>
  /** Whether every beat of the last lease succeeded. Then every other process that is alive could beat as well. */
  readonly isSteady: boolean
  /** Finds the owners that are alive now, this process included. */
  findLiving(owners: readonly string[]): Promise<ReadonlySet<string>>
  /** Reads when each owner last wrote that it was alive. An owner that never did is missing. */
  readBeats(owners: readonly string[]): Promise<ReadonlyMap<string, Date>>
}

/** Creates one process's view of the owners. */
export function createOwners({ db, owner, leaseMs, monotonicMs }: OwnersDeps): Owners {
  const owners = db.collection<OwnerDocument>(OWNERS)
  let steadySince = 0
  let lastBeat = Number.NEGATIVE_INFINITY
  // A time in the future comes from a wrong clock.
  const read = async (asked: readonly string[], since: object): Promise<OwnerDocument[]> => {
    const $expr = { $and: [{ $lte: ['$aliveAt', '$$NOW'] }, since] }
    return asked.length === 0 ? [] : owners.find({ _id: { $in: [...asked] }, $expr }).toArray()
  }
  return {
    async beat() {
      const u = [{ $set: { aliveAt: '$$NOW', leaseMs } }]
      await bulkUpdate(db, { update: OWNERS, updates: [{ q: { _id: owner }, u, upsert: true }] })
      const now = monotonicMs()
      if (now - lastBeat > leaseMs) steadySince = now
      lastBeat = now
    },
    get isSteady() {
      const now = monotonicMs()
      return now - lastBeat <= leaseMs && now - steadySince >= leaseMs
    },
    async findLiving(asked) {
      const others = asked.filter((one) => one !== owner)
      // A process that is alive beats within half a lease. When a dead process's lease has expired, its last beat is
      // older than that.
      const halfLease = { $divide: [positiveOr('leaseMs', leaseMs), 2] }
      const living = await read(others, { $gte: ['$aliveAt', { $subtract: ['$$NOW', halfLease] }] })
      return new Set([owner, ...living.map(({ _id }) => _id)])
    },
    async readBeats(asked) {
      return new Map((await read(asked, { $literal: true })).map(({ _id, aliveAt }) => [_id, aliveAt]))
    },
  }
}
