import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Db, Document } from 'mongodb'
import { positiveOr, timeOf } from '../../record-expressions.ts'

/** A process that holds records. All times are those of the database. */
interface OwnerDocument {
  readonly _id: string
  /** When it last wrote that it was alive. */
  readonly aliveAt: Date
  /** The end of its lease: until then, nobody takes over what it holds. */
  readonly aliveUntil: Date
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

/** Owners that may have died. */
interface Verdicts {
  /** Owners whose lease has ended, and those that have none. */
  readonly dead: readonly string[]
  /** How soon the lease of one of the others ends unless it is extended, in milliseconds. Infinite if there are no others. */
  readonly endsInMs: number
}

interface LivingOwner {
  readonly _id: string
  readonly endsInMs: number
}

/** The leases of processes. A process extends its own with one small write, however many records it holds. */
export interface Owners {
  /** Writes that this process is alive, for one more lease. Call it three times during a lease. */
  beat(): Promise<void>
  /** Ends the lease of this process, so that others take over at once what it still holds. */
  leave(): Promise<void>
  /** Whether every beat of the last lease succeeded. Then every other process that is alive could beat as well. */
  readonly isSteady: boolean
  /**
   * Whether this process may decide that others have died: if its own beat was late, an outage may have delayed those of
   * all others. They get a third of a lease to beat first.
   */
  readonly mayDecide: boolean
  /** Finds those that may have died. The others are alive. */
  findDead(owners: readonly string[]): Promise<Verdicts>
  /** Reads when each owner last wrote that it was alive. An owner that never did is missing. */
  readBeats(owners: readonly string[]): Promise<ReadonlyMap<string, Date>>
}

/** Creates one process's view of the owners. */
export function createOwners({ db, owner, leaseMs, monotonicMs }: OwnersDeps): Owners {
  const owners = db.collection<OwnerDocument>(OWNERS)
  let steadySince = 0
  let lastBeat = Number.NEGATIVE_INFINITY
  let wasLateAt = Number.NEGATIVE_INFINITY
  const write = async (aliveUntil: unknown): Promise<void> => {
    const u = [{ $set: { aliveAt: '$$NOW', aliveUntil, leaseMs } }]
    await bulkUpdate(db, { update: OWNERS, updates: [{ q: { _id: owner }, u, upsert: true }] })
  }
  return {
    async beat() {
      await write(fromNow(leaseMs))
      const now = monotonicMs()
      if (now - lastBeat > leaseMs) {
        steadySince = now
        if (Number.isFinite(lastBeat)) wasLateAt = now
      }
      lastBeat = now
    },
    leave: () => write('$$NOW'),
    get isSteady() {
      const now = monotonicMs()
      return now - lastBeat <= leaseMs && now - steadySince >= leaseMs
    },
    get mayDecide() {
      return monotonicMs() - wasLateAt >= leaseMs / 3
    },
    async findDead(asked) {
      const living = await owners
        .find({ _id: { $in: [...asked] }, $expr: isAlive(leaseMs) })
        .project<LivingOwner>({ endsInMs: { $subtract: ['$aliveUntil', '$$NOW'] } })
        .toArray()
      const ids = new Set(living.map(({ _id }) => _id))
      const dead = asked.filter((one) => !ids.has(one))
      return { dead, endsInMs: Math.min(...living.map(({ endsInMs }) => endsInMs)) }
    },
    async readBeats(asked) {
      if (asked.length === 0) return new Map()
      // A time in the future comes from a wrong clock.
      const $expr = { $lte: ['$aliveAt', '$$NOW'] }
      const found = await owners.find({ _id: { $in: [...asked] }, $expr }).toArray()
      return new Map(found.map(({ _id, aliveAt }) => [_id, aliveAt]))
    },
  }
}

/**
 * Whether the lease of an owner has not ended. Its length is that in `leaseMs` of the document: during a rolling restart
 * with another `LEASE_MS` it differs from ours.
 */
function isAlive(ownLeaseMs: number): Document {
  const end = timeOf('aliveUntil')
  const leaseMs = positiveOr('leaseMs', ownLeaseMs)
  // No lease is longer than half of this. The other half is for the clock of a new primary that is slightly behind.
  const latest = { $add: ['$$NOW', leaseMs, leaseMs] }
  return { $and: [{ $gte: [end, '$$NOW'] }, { $lte: [end, latest] }] }
}
