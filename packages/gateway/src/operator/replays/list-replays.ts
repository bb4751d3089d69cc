import type { Db, ObjectId } from 'mongodb'
import { EVENTS, type EventDocument, type EventState, REPLAYS_INDEX } from '../../inbox/event-document.ts'
import { type OperatorContext, SEARCH_MS } from '../operator-trpc.ts'
import { REPLAYS, type ReplayDocument } from './replay-document.ts'
import type { ReplayProgress } from './replays.ts'

/** A replay in a list. Its numbers of events are null if the database did not count them in time. */
export interface ListedReplay extends Omit<ReplayProgress, 'started' | 'done' | 'failed'> {
  readonly replayId: string
  readonly started: number | null
  readonly done: number | null
  readonly failed: number | null
}

/** A part of the list: the number of replays at most, and the id of the replay before the first one. */
interface ReplayPage {
  readonly limit: number
  readonly after: ObjectId | null
}

/**
 * Lists replays of all operators, newest first. Counts the events of one replay after the other, for at most 5 s in
 * total.
 */
export async function listReplays(
  { db, monotonicMs }: Pick<OperatorContext, 'db' | 'monotonicMs'>,
  { limit, after }: ReplayPage,
): Promise<ListedReplay[]> {
  const found = await db
    .collection<ReplayDocument>(REPLAYS)
    .find(after === null ? {} : { _id: { $lt: after } }, { maxTimeMS: SEARCH_MS, projection: { filter: 0 } })
    .sort({ _id: -1 })
    .limit(limit)
    .toArray()
  const listed: ListedReplay[] = []
  const deadline = monotonicMs() + SEARCH_MS
  for (const replay of found) {
    const counts = await countInTime(db, replay._id, deadline - monotonicMs())
    listed.push({ ...toListed(replay), ...counts })
  }
  return listed
}

type Counts = Pick<ListedReplay, 'started' | 'done' | 'failed'>

const NOT_COUNTED: Counts = { started: null, done: null, failed: null }
const DONE: readonly EventState[] = ['done', 'unhandled']
const FAILED: readonly EventState[] = ['dead', 'closed']

/** The index contains everything that is counted, so no event is read. */
async function countInTime(db: Db, id: ObjectId, timeMs: number): Promise<Counts> {
  if (timeMs < 1) return NOT_COUNTED
  const pipeline = [{ $match: { 'replays.id': id } }, { $group: { _id: '$state', count: { $sum: 1 } } }]
  const options = { maxTimeMS: Math.ceil(timeMs), hint: REPLAYS_INDEX }
  const states = await db
    .collection<EventDocument>(EVENTS)
    .aggregate<{ _id: EventState; count: number }>(pipeline, options)
    .toArray()
    .catch(() => null)
  if (states === null) return NOT_COUNTED
  const sumOf = (wanted: readonly EventState[] | null): number =>
    states.reduce((sum, { _id, count }) => (wanted === null || wanted.includes(_id) ? sum + count : sum), 0)
  return { started: sumOf(null), done: sumOf(DONE), failed: sumOf(FAILED) }
}

function toListed({ _id, state, matched, by, reason, notRead = 0, startedAt, finishedAt }: ReplayDocument) {
  return {
    ...{ replayId: String(_id), state, matched, notRead, by, reason },
    ...{ startedAt: startedAt.toISOString(), finishedAt: finishedAt?.toISOString() ?? null },
  }
}
