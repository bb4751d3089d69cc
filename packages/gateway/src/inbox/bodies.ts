import { hash } from 'node:crypto'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { type WriteResult, writeResultsOf } from '@oncehook/kernel/mongo/write-outcome'
import type { Encryption, Place, Sealed } from '@oncehook/kernel/secrets/encryption'
import { monotonicMs } from '@oncehook/kernel/time/clock'
import { GroupCommit } from '@oncehook/queue/insert/group-commit'
import { Binary, type Db, type Document } from 'mongodb'
import type { EventDocument } from './event-document.ts'
import { NO_BODY, openEvidence } from './evidence-encryption.ts'
import { bodyMsOf, type Retention } from './retention/retention.ts'

/** The body of a delivery with several events, or a large one of an event with several tasks. Their records refer to it by `bodyId`. */
export interface BodyDocument {
  /** Provider and hash, so that a redelivery finds the same document. */
  readonly _id: string
  /** Empty if the body is encrypted, or after it was erased. */
  readonly raw: Binary
  readonly sealed?: Sealed
  /** From this time on, by the database's clock, the body is removed if no record refers to it. */
  readonly checkAt: Date
}

/** The body of an event. It has an id if it is stored separately from the record. */
export interface StoredBody {
  readonly hash: string
  readonly id?: string
}

export const BODIES = 'bodies'

/** The id of the document for a body. Every record has the hash, even if only its key is left. */
export function bodyIdOf({ provider, bodyHash }: Pick<EventDocument, 'provider' | 'bodyHash'>): string {
  return `${provider}:${bodyHash}`
}

export const BODY_INDEXES: NeededIndexes = {
  collection: BODIES,
  indexes: [{ name: 'check', key: { checkAt: 1 } }],
}

export interface BodiesDeps extends Retention, BodySource {
  readonly errors: DatabaseErrors
}

/**
 * What became of a body. `kept`: a majority holds it, for long enough that records may refer to it. `erased`: it stays
 * removed, for the records that refer to it already.
 */
type KeptBody = 'kept' | 'erased' | 'not_stored'

interface Kept {
  readonly id: string
  readonly raw: Binary
  readonly sealed?: Sealed
}

/** How long a body that a record refers to is not checked, in milliseconds. */
export const CHECK_AGAIN_MS = 86_400_000
// No record of the delivery drops its body before the retention ends. The extra hour is for the server, which removes
// expired records late.
const MARGIN_MS = 3_600_000

/** Creates the store of bodies. It has one command in flight, so that large bodies leave the other connections free. */
export function createBodies(deps: BodiesDeps) {
  const writeGroup = (bodies: Kept[]) => write(deps, bodies)
  const group = new GroupCommit<Kept>(writeGroup, monotonicMs)
  return {
    /** Stores a body, or keeps it for longer. Does not start after `endsAt`, an instant of `performance.now()`. */
    async keep({ id, rawBody }: { readonly id: string; readonly rawBody: Buffer }, endsAt: number): Promise<KeptBody> {
      const body = { id, ...sealBody(id, rawBody, deps.encryption) }
      const attempt = () => group.writeBatch([() => body], { bytes: rawBody.length, endsAt })
      const [verdict] = await attempt()
      if (verdict !== 'duplicate') return keptAs(verdict)
      // If another process stored the same body at the same time, there is now one to keep for longer.
      return keptAs((await attempt())[0])
    },
  }
}

function keptAs(verdict: WriteResult | undefined): KeptBody {
  if (verdict === 'stored') return 'kept'
  return verdict === 'duplicate' ? 'erased' : 'not_stored'
}

async function write(deps: BodiesDeps, bodies: readonly Kept[]): Promise<WriteResult[]> {
  const { db, errors } = deps
  // Later than the date of any check in progress. Otherwise that check would not notice this delivery.
  const until = { $add: ['$$NOW', Math.max(bodyMsOf(deps), CHECK_AGAIN_MS) + MARGIN_MS] }
  const updates: Document[] = bodies.map(({ id, raw, sealed }) => ({
    // An erased body does not match, and its id is refused.
    q: { _id: id, $nor: [IS_ERASED] },
    u: [
      {
        $set: {
          raw: { $ifNull: ['$raw', { $literal: raw }] },
          // An existing body stays as it is, even if it is unencrypted.
          ...(sealed === undefined ? {} : { sealed: { $cond: [IS_NEW, { $literal: sealed }, '$sealed'] } }),
          checkAt: { $max: ['$checkAt', until] },
        },
      },
    ],
    upsert: true,
  }))
  try {
    const { refused } = await sendUpdates(db, { update: BODIES, updates })
    errors.countReply({ writeErrors: refused })
    return writeResultsOf({ writeErrors: refused }, bodies.length)
  } catch (error) {
    errors.count(error)
    throw error
  }
}

/** The fields that hold a body: encrypted, or in plaintext if encryption is off. */
export function sealBody(
  id: string,
  rawBody: Uint8Array,
  encryption: Encryption,
): Pick<BodyDocument, 'raw' | 'sealed'> {
  const sealed = encryption.seal(rawBody, placeOf(id))
  return sealed === null ? { raw: new Binary(rawBody) } : { raw: NO_BODY, sealed }
}

/** Matches bodies that were erased. So is an empty body that was signed: it fits into its records. */
export const IS_ERASED = { raw: NO_BODY, sealed: { $exists: false } }
const IS_NEW = { $eq: [{ $type: '$raw' }, 'missing'] }

function placeOf(id: string): Place {
  return { collection: BODIES, id, field: 'sealed' }
}

export interface BodySource {
  readonly db: Db
  readonly encryption: Encryption
}

/**
 * Returns the record with its body in `raw`, wherever the body is stored, and with its headers, all in plaintext. A
 * body whose retention has ended is empty.
 * @throws keyUnknown, recordAltered
 */
export async function withBody({ db, encryption }: BodySource, stored: EventDocument): Promise<EventDocument> {
  const record = openEvidence(stored, encryption)
  if (record.bodyId === undefined) return record
  const found = await db.collection<BodyDocument>(BODIES).findOne({ _id: record.bodyId })
  if (found === null) return record
  const raw = found.sealed === undefined ? found.raw : new Binary(encryption.open(found.sealed, placeOf(found._id)))
  return { ...record, raw }
}

/** Whether the body was removed. An empty form may be signed: only its hash distinguishes it from a removed body. */
export function isBodyGone({ raw, bodyHash }: Pick<EventDocument, 'raw' | 'bodyHash'>): boolean {
  const rawBody = raw.value()
  return rawBody.length === 0 && bodyHash !== hash('sha256', rawBody, 'base64')
}
