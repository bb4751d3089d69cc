import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import type { Db, Document } from 'mongodb'
import type { FindWanting } from '../../handlers/events/find-wanting.ts'
import { withBody } from '../../inbox/bodies.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { copyAsTask } from '../../inbox/tasks/copy-as-task.ts'
import { toTask } from '../../inbox/tasks/split-arrival.ts'
import { insertBackfilled } from '../../inbox/transitions.ts'
import type { RemapResult } from './remap.ts'
import type { ReplayDocument } from './replay-document.ts'

/** What a backfill needs. */
export interface BackfillDeps {
  readonly db: Db
  readonly encryption: Encryption
  readonly findWanting: FindWanting
}

/** A stored event, as the current settings read it. */
export interface BackfilledEvent {
  readonly record: EventDocument
  readonly read: RemapResult
  readonly handler: string
}

/** An update that inserts a task unless there is one. */
interface TaskInsert {
  readonly q: Document
  readonly u: readonly Document[]
  readonly upsert: true
}

// The failures of `remap` that mean that nobody could read the body. All others concern the current settings.
const WITHOUT_BODY: ReadonlySet<string> = new Set(['body_expired', 'key_unknown', 'record_altered'])

/** Whether an event gets no task, because its body is missing: it could be neither chosen nor sent. */
export function isLeftOut(failure: string): boolean {
  return WITHOUT_BODY.has(failure)
}

/**
 * The update that gives a handler the task of a stored event. Null if it does not want the event. If the body cannot be
 * read with the current settings, the mapping from its receipt applies.
 */
export async function planBackfill(
  { db, encryption, findWanting }: BackfillDeps,
  { _id: id, by, reason }: ReplayDocument,
  { record: stored, read, handler }: BackfilledEvent,
): Promise<TaskInsert | null> {
  if ('failure' in read && isLeftOut(read.failure)) return null
  // It could not be read when it came: a replay gives it its key first.
  if ('members' in read && read.members.eventId !== undefined) return null
  const record = await withBody({ db, encryption }, stored)
  const rawBody = record.raw.value()
  const members = 'members' in read ? read.members : {}
  const { provider, eventId } = stored
  const { type, facts, orderId } = { ...record, ...members }
  const event = { type, facts: { ...facts, orderId } }
  const wishes = findWanting({ provider, rawBody })(event).map(toTask)
  const wish = wishes.find((one) => one.handler === handler)
  if (wish === undefined) return null
  const task = copyAsTask({ ...record, raw: record.raw }, { handler, line: wish.line, members, encryption })
  const entry = { id, by, reason, ...('failure' in read ? { notRead: read.failure } : {}) }
  return { q: { provider, eventId, handler }, u: insertBackfilled(task, entry), upsert: true }
}
