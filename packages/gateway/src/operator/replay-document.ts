import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { ObjectId } from 'mongodb'

/** A replay: a list of events that become due again, at a rate, by whichever process finds it. */
export interface ReplayDocument {
  readonly _id: ObjectId
  readonly state: 'running' | 'finished' | 'cancelled'
  readonly by: string
  readonly reason: string
  /** The filter as extended JSON: in a document of ours names that begin with $ would be trouble. */
  readonly filter: string
  readonly ratePerSecond: number | null
  readonly matched: number
  /** How many of its events could not be read by the settings of that time. Absent means none. */
  readonly notRead?: number
  /** The newest event that was handed on; the next slice begins behind it. */
  readonly cursor: ObjectId | null
  /** Newer events came after the replay was asked for and are not part of it. Null where ids were named. */
  readonly until: ObjectId | null
  readonly leaseUntil: Date
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

/** The collection of replays. */
export const REPLAYS = 'replays'

/** The indexes that replays need beside the one that finds the events of each. */
export const REPLAY_INDEXES: readonly NeededIndexes[] = [
  {
    collection: REPLAYS,
    indexes: [{ name: 'running', key: { state: 1, _id: 1 }, partialFilterExpression: { state: 'running' } }],
  },
]
