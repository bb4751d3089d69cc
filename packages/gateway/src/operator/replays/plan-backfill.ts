import type { Encryption } from '@oncehook/kernel/encryption'
import type { Db, Document } from 'mongodb'
import type { FindWanting } from '../../handlers/events/find-wanting.ts'
import { withBody } from '../../inbox/bodies.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { copyAsTask } from '../../inbox/tasks/copy-as-task.ts'
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

/** The update that gives a handler the task of a stored event. Null if it does not want the event. */
export async function planBackfill(
  { db, encryption, findWanting }: BackfillDeps,
  { _id: id, by, reason }: ReplayDocument,
  { record: stored, read, handler }: BackfilledEvent,
): Promise<TaskInsert | null> {
  // Without its body, the event could be neither chosen nor sent.
  if ('failure' in read) return null
  const record = await withBody({ db, encryption }, stored)
  const { provider, eventId, slot } = stored
  const { type, facts, orderId } = read.members
  const event = { type, facts: { ...facts, orderId } }
  if (!findWanting({ provider, event, rawBody: record.raw.value() }).includes(handler)) return null
  const task = copyAsTask({ ...record, raw: record.raw }, { handler, members: read.members, encryption })
  const named = slot === undefined ? { provider, eventId } : { slot, provider, eventId }
  return { q: { ...named, handler }, u: insertBackfilled(task, { id, by, reason }), upsert: true }
}
