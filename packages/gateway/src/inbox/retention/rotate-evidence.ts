import type { Logger } from '@oncehook/kernel/log/logger'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { type RotationPart, rewrapField, rotatePart, type ValueRotation } from '@oncehook/kernel/mongo/rotation'
import type { WrappedKey } from '@oncehook/kernel/secrets/encryption'
import { EVENTS } from '@oncehook/queue/task'
import { Binary, type Document, ObjectId } from 'mongodb'
import { BODIES, type BodyDocument, type BodySource, sealBody } from '../bodies.ts'
import type { EventDocument } from '../event-document.ts'
import { NO_BODY, storeEvidence } from '../evidence-encryption.ts'

export interface RotationRequest {
  /** The id of the last record examined. Null means from the beginning. */
  readonly after: string | null
  readonly dryRun: boolean
}

/** Where records are stored, how they are encrypted, and where unreadable ones are logged. */
export interface RotationSource extends BodySource {
  readonly logger: Logger
}

const AT_ONCE = 500
const SEARCH_MS = 4_000
const SEALED = { key: '$sealed.key', wrapped: '$sealed.wrapped' }

interface Row<Id> {
  readonly _id: Id
  readonly sealed: WrappedKey
  readonly isClear: boolean
}

/** Encrypts a part of the events with the first key: events under other keys, and plaintext events. */
export function rotateEvents(source: RotationSource, { after, dryRun }: RotationRequest): Promise<RotationPart> {
  const events = source.db.collection<EventDocument>(EVENTS)
  const encrypt = async (_id: ObjectId): Promise<readonly Document[]> => {
    const found = await events.findOne({ _id, sealed: { $exists: false } })
    if (found === null) return []
    const { headers, query = '' } = found
    const raw = found.raw instanceof Binary ? found.raw : NO_BODY
    const { sealed } = storeEvidence(_id, { raw, headers, query }, source.encryption)
    // Data that was removed in the meantime, by retention or on request, must not come back.
    const demands =
      raw.length() > 0 ? { raw: { $type: 'binData', $ne: NO_BODY } } : { headers: { $type: 'object', $ne: {} } }
    const q = { _id, sealed: { $exists: false }, ...demands }
    return [{ q, u: { $set: { raw: NO_BODY, headers: {}, sealed }, $unset: { query: '' } } }]
  }
  const from = after === null ? null : new ObjectId(after)
  return rotate(source, { collection: EVENTS, after: from, dryRun, isClear: HAS_EVIDENCE, encrypt })
}

/** Encrypts a part of the bodies that several events share, in the same way. */
export function rotateBodies(source: RotationSource, { after, dryRun }: RotationRequest): Promise<RotationPart> {
  const bodies = source.db.collection<BodyDocument>(BODIES)
  const encrypt = async (_id: string): Promise<readonly Document[]> => {
    const found = await bodies.findOne({ _id, sealed: { $exists: false } })
    if (found === null) return []
    const q = { _id, sealed: { $exists: false }, raw: { $ne: NO_BODY } }
    return [{ q, u: { $set: sealBody(_id, found.raw.value(), source.encryption) } }]
  }
  return rotate(source, { collection: BODIES, after, dryRun, isClear: HAS_BODY, encrypt })
}

interface Rotated<Id> {
  readonly collection: string
  readonly after: Id | null
  readonly dryRun: boolean
  readonly isClear: Document
  readonly encrypt: (_id: Id) => Promise<readonly Document[]>
}

async function rotate<Id extends ObjectId | string>(
  source: RotationSource,
  { collection, after, dryRun, isClear, encrypt }: Rotated<Id>,
): Promise<RotationPart> {
  const { db, logger } = source
  const rows = await db.collection(collection).aggregate<Row<Id>>(partOf(after, isClear), OPTIONS).toArray()
  return rotatePart({
    rows,
    atOnce: AT_ONCE,
    idOf: ({ _id }) => String(_id),
    rotate: (row) => [() => rotateRow(row, { source, encrypt: () => (dryRun ? [{}] : encrypt(row._id)) })],
    onAltered: (id) => logger.error({ collection, id }, 'encryption.record-altered'),
    send: dryRun ? null : (updates) => bulkUpdate(db, { update: collection, updates }),
  })
}

function rotateRow<Id>(
  { _id, sealed, isClear }: Row<Id>,
  { source, encrypt }: { readonly source: BodySource; readonly encrypt: ValueRotation },
): ReturnType<ValueRotation> {
  if (Object.keys(sealed).length === 0) return isClear ? encrypt() : []
  const rewrapped = rewrapField('sealed', sealed, source.encryption)
  return rewrapped === null ? [] : [{ q: { _id, ...rewrapped.demands }, u: { $set: rewrapped.sets } }]
}

const OPTIONS = { hint: { _id: 1 }, maxTimeMS: SEARCH_MS }

function partOf(after: ObjectId | string | null, isClear: Document): Document[] {
  return [
    { $match: after === null ? {} : { _id: { $gt: after } } },
    { $sort: { _id: 1 } },
    { $limit: AT_ONCE },
    { $project: { sealed: SEALED, isClear } },
  ]
}

const HAS_BODY: Document = {
  $cond: [{ $eq: [{ $type: '$raw' }, 'binData'] }, { $gt: [{ $binarySize: '$raw' }, 0] }, false],
}
const HAS_HEADERS: Document = {
  $and: [{ $eq: [{ $type: '$headers' }, 'object'] }, { $ne: ['$headers', { $literal: {} }] }],
}
const HAS_EVIDENCE: Document = { $or: [HAS_BODY, HAS_HEADERS] }
