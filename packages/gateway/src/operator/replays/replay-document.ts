import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { ObjectId } from 'mongodb'

/** A replay: a list of events that become due again, at a rate. Any process may run it. */
export interface ReplayDocument {
  readonly _id: ObjectId
  readonly state: 'running' | 'finished' | 'cancelled'
  readonly by: string
  readonly reason: string
  /** The filter as extended JSON, because names that begin with $ cause problems in a stored document. */
  readonly filter: string
  readonly ratePerSecond: number | null
  /** The handler that gets tasks of the events. Absent: the events themselves are made due again. */
  readonly handler?: string
  readonly matched: number
  /** The number of its events that could not be read with the settings of that time. Absent means none. */
  readonly notRead?: number
  /** The newest event that was examined. The next slice begins after it. */
  readonly cursor: ObjectId | null
  /** Newer events arrived after the replay was requested and are not part of it. Null if the request named ids. */
  readonly until: ObjectId | null
  readonly leaseUntil: Date
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

/** The collection of replays. */
export const REPLAYS = 'replays'

/** The indexes that replays need besides the one that finds the events of each. */
export const REPLAY_INDEXES: readonly NeededIndexes[] = [
  {
    collection: REPLAYS,
    indexes: [{ name: 'running', key: { state: 1, _id: 1 }, partialFilterExpression: { state: 'running' } }],
  },
]
