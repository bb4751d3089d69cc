import { hash } from 'node:crypto'
import type { Encryption } from '@oncehook/kernel/encryption'
import { Binary, type Db, type Document } from 'mongodb'
import { BODIES, type Bodies, type BodyDocument, IS_ERASED, type KeptBody } from '../bodies.ts'
import type { EventDocument } from '../event-document.ts'
import { NO_BODY, storeEvidence } from '../evidence-encryption.ts'
import { GROUP_LIMITS } from '../group-limits.ts'
import type { BroughtEvidence } from './evidence-room.ts'
import { type DeadRecord, LACKS_BODY } from './read-dead.ts'

/** Where bodies are stored again, and how they are encrypted. */
export interface RestoreDeps {
  readonly db: Db
  readonly bodies: Bodies
  readonly encryption: Encryption
}

/** A dead record that a redelivery would revive. */
export interface Revival {
  readonly dead: DeadRecord
  readonly record: Pick<EventDocument, '_id' | 'handler' | 'bodyHash'>
  /** What the redelivery brings, if it was kept. */
  readonly evidence: BroughtEvidence | undefined
  /** The document for its body, if it has several events or tasks. */
  readonly bodyId: string | undefined
}

/** How a record that is revived has its body. */
export interface RevivedBody {
  /** What must still be true of the record. Bodies are removed at any time. */
  readonly filter: Document
  /** The stages that give it its evidence again before it is revived. */
  readonly stages: readonly Document[]
}

/** `body_missing`: the record lacks its body, and must not be revived. `not_now`: its body cannot be stored now. */
export type BodyOfRevival = RevivedBody | 'body_missing' | 'not_now'

/**
 * For the id of each record, how it has its body. Those that need none are left out. A body that several records share is
 * stored before this resolves.
 */
export async function restoreBodies(
  deps: RestoreDeps,
  revivals: readonly Revival[],
): Promise<ReadonlyMap<string, BodyOfRevival>> {
  const needing = revivals.filter(needsBody)
  const present = await findPresent(
    deps,
    needing.flatMap(({ dead }) => dead.bodyId ?? []),
  )
  const keep = keepOnce(deps)
  // Together, so that they share commands, and the wait for a majority.
  const bodies = needing.map(
    async (revival): Promise<[string, BodyOfRevival]> => [
      String(revival.record._id),
      presentBody(revival, present) ?? (await restore(deps, revival, keep)),
    ],
  )
  return new Map(await Promise.all(bodies))
}

/** The body of a record that has it. A shared one is not removed as long as the record refers to it. */
function presentBody({ dead: { bodyId, hasBody } }: Revival, present: ReadonlySet<string>): RevivedBody | undefined {
  if (bodyId !== undefined) return present.has(bodyId) ? { filter: { bodyId }, stages: [] } : undefined
  return hasBody ? { filter: { $expr: { $not: [LACKS_BODY] } }, stages: [] } : undefined
}

/** Only the task of a handler is sent with its body. An empty one is never gone. */
function needsBody({ record: { handler, bodyHash } }: Revival): boolean {
  return handler !== undefined && bodyHash !== HASH_OF_EMPTY
}

const HASH_OF_EMPTY = hash('sha256', '', 'base64')

/** Which of the shared bodies are stored, and were not erased. */
async function findPresent({ db }: RestoreDeps, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const stored = { _id: { $in: [...ids] }, $nor: [IS_ERASED] }
  const found = db.collection<BodyDocument>(BODIES).find(stored).project<Pick<BodyDocument, '_id'>>({ _id: 1 })
  return new Set((await found.toArray()).map(({ _id }) => _id))
}

type Keep = (id: string, rawBody: Buffer) => Promise<KeptBody>

/** Stores each shared body once, even if several tasks need it. */
function keepOnce({ bodies }: RestoreDeps): Keep {
  const kept = new Map<string, Promise<KeptBody>>()
  return (id, rawBody) => {
    const keeping = kept.get(id) ?? bodies.keep({ id, rawBody }, performance.now() + GROUP_LIMITS.maxWaitMs)
    kept.set(id, keeping)
    return keeping
  }
}

async function restore(
  { encryption }: RestoreDeps,
  { dead, record, evidence, bodyId = dead.bodyId }: Revival,
  keep: Keep,
): Promise<BodyOfRevival> {
  if (evidence === undefined) return 'body_missing'
  if (bodyId !== undefined) {
    const kept = await keep(bodyId, evidence.rawBody)
    if (kept === 'not_stored') return 'not_now'
    if (kept === 'erased') return 'body_missing'
  }
  const raw = bodyId === undefined ? new Binary(evidence.rawBody) : NO_BODY
  const { headers, query, secretId, requestId } = evidence
  const stored = { ...storeEvidence(record._id, { raw, headers, query }, encryption), secretId, requestId }
  return { filter: {}, stages: [evidenceOf({ ...stored, ...(bodyId === undefined ? {} : { bodyId }) })] }
}

/** Sets the evidence if the record is still dead and without a body. */
function evidenceOf(stored: object): Document {
  const isDue = { $and: [{ $eq: ['$state', 'dead'] }, LACKS_BODY] }
  const fields = Object.entries(stored).map(([name, value]) => [name, { $literal: value }])
  const members = [...fields, ['evidenceAt', '$$NOW']]
  return { $set: Object.fromEntries(members.map(([name, value]) => [name, { $cond: [isDue, value, `$${name}`] }])) }
}
