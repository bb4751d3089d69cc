import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Db } from 'mongodb'
import { positiveOr } from './record-expressions.ts'

/** A process that holds claims, and when it last said that it lives, by the database's clock. */
interface OwnerDocument {
  readonly _id: string
  readonly aliveAt: Date
  /** The length of its leases, in milliseconds: after a change of `LEASE_MS` not that of the reader. */
  readonly leaseMs: number
}

const OWNERS = 'owners'
const DAY_SECONDS = 86_400

/** The owners of claims: those that have been silent for a day are forgotten. */
export const OWNER_INDEXES: NeededIndexes = {
  collection: OWNERS,
  indexes: [{ name: 'silent', key: { aliveAt: 1 }, expireAfterSeconds: DAY_SECONDS }],
}

/** What the owners are told apart with. */
export interface OwnersDeps {
  readonly db: Db
  /** This process. */
  readonly owner: string
  readonly leaseMs: number
  /** Milliseconds that only go forward. */
  readonly monotonicMs: () => number
}

/**
 * Which processes live: an outage of the database lets leases run out without any death. A process that was held up says
 * so by its next beat, and then its losses were no deaths.
 */
export interface Owners {
  /** Says that this process lives. To be called three times in a lease. */
  beat(): Promise<void>
  /** Whether every beat of the last lease got through: then every other process that lives could beat as well. */
  readonly isSteady: boolean
  /** Those of the owners that live now, this process included. */
  findLiving(owners: readonly string[]): Promise<ReadonlySet<string>>
  /** When each owner last said that it lives; an owner that never did is missing. */
  readBeats(owners: readonly string[]): Promise<ReadonlyMap<string, Date>>
}

/** Creates the view that one process has of the owners. */
export function createOwners({ db, owner, leaseMs, monotonicMs }: OwnersDeps): Owners {
  const owners = db.collection<OwnerDocument>(OWNERS)
  let steadySince = 0
  let lastBeat = Number.NEGATIVE_INFINITY
  // A time in the future was set by a clock that was wrong.
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
      // Half a lease has room for a beat; a lease that has ended is older than the last beat of a process that died.
      const halfLease = { $divide: [positiveOr('leaseMs', leaseMs), 2] }
      const living = await read(others, { $gte: ['$aliveAt', { $subtract: ['$$NOW', halfLease] }] })
      return new Set([owner, ...living.map(({ _id }) => _id)])
    },
    async readBeats(asked) {
      return new Map((await read(asked, { $literal: true })).map(({ _id, aliveAt }) => [_id, aliveAt]))
    },
  }
}
