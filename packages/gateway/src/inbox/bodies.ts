import type { Encryption, Place, Sealed } from '@oncehook/kernel/encryption'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { verdictsOf, type WriteVerdict } from '@oncehook/kernel/mongo/write-outcome'
import { Binary, type Db, type Document } from 'mongodb'
import type { EventDocument } from './event-document.ts'
import { NO_BODY, openEvidence } from './evidence-encryption.ts'
import { createGroupCommit, GROUP_LIMITS } from './group-commit.ts'
import { bodyMsOf, type Retention } from './retention.ts'

/** The body of a delivery of several events: their records refer to it by `bodyId`. */
export interface BodyDocument {
  /** Provider and hash, so that a repeated delivery finds the same document. */
  readonly _id: string
  /** Empty where it is encrypted, and once it was erased. */
  readonly raw: Binary
  /** The body, encrypted. */
  readonly sealed?: Sealed
  /** From then on, by the database's clock, it is removed if no record refers to it. */
  readonly checkAt: Date
}

/** The collection of bodies. */
export const BODIES = 'bodies'

/** The index by which bodies are found that may be removed. */
export const BODY_INDEXES: NeededIndexes = {
  collection: BODIES,
  indexes: [{ name: 'check', key: { checkAt: 1 } }],
}

/** What the bodies are stored with. */
export interface BodiesDeps extends Retention {
  readonly db: Db
  readonly errors: DatabaseErrors
  readonly encryption: Encryption
}

/** Stores bodies that several records share. */
export interface Bodies {
  /**
   * Stores a body, or prolongs the stay of the one that is there. True when a majority holds it: for long enough that
   * records may refer to it. Past `endsAt`, an instant of `performance.now()`, it is not begun any more.
   */
  keep(body: { readonly id: string; readonly rawBody: Buffer }, endsAt: number): Promise<boolean>
}

interface Kept {
  readonly id: string
  readonly raw: Binary
  readonly sealed?: Sealed
}

/** How long a body that a record refers to stays unchecked, in milliseconds. */
export const CHECK_AGAIN_MS = 86_400_000
// No record of the delivery gives its body up before the retention ends. The hour is for the server, which removes expired records late.
const MARGIN_MS = 3_600_000

/** Creates the store of bodies: one command in flight, so that large bodies leave the other connections free. */
export function createBodies(deps: BodiesDeps): Bodies {
  const writeGroup = (bodies: Kept[]) => write(deps, bodies)
  const group = createGroupCommit<Kept>({ writeGroup, now: () => performance.now() }, GROUP_LIMITS)
  return {
    async keep({ id, rawBody }, endsAt) {
      const body = { id, ...sealBody(id, rawBody, deps.encryption) }
      const attempt = () => group.writeBatch([() => body], { bytes: rawBody.length, endsAt })
      const [verdict] = await attempt()
      if (verdict !== 'duplicate') return verdict === 'stored'
      // Another process stored the same body at the same instant: now there is one to prolong.
      return (await attempt())[0] === 'stored'
    },
  }
}

async function write(deps: BodiesDeps, bodies: readonly Kept[]): Promise<WriteVerdict[]> {
  const { db, errors } = deps
  // Later than any check that is under way has put it, or that check would not notice this delivery.
  const until = { $add: ['$$NOW', Math.max(bodyMsOf(deps), CHECK_AGAIN_MS) + MARGIN_MS] }
  const updates: Document[] = bodies.map(({ id, raw, sealed }) => ({
    q: { _id: id },
    u: [
      {
        $set: {
          raw: { $ifNull: ['$raw', { $literal: raw }] },
          // What is there stays as it is, in clear or erased too.
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
    return verdictsOf({ writeErrors: refused }, bodies.length)
  } catch (error) {
    errors.count(error)
    throw error
  }
}

/** The members that hold a body: encrypted, or in clear where encryption is off. */
export function sealBody(
  id: string,
  rawBody: Uint8Array,
  encryption: Encryption,
): Pick<BodyDocument, 'raw' | 'sealed'> {
  const sealed = encryption.seal(rawBody, placeOf(id))
  return sealed === null ? { raw: new Binary(rawBody) } : { raw: NO_BODY, sealed }
}

const IS_NEW = { $eq: [{ $type: '$raw' }, 'missing'] }

function placeOf(id: string): Place {
  return { collection: BODIES, id, field: 'sealed' }
}

/** Where bodies are, and how they are read. */
export interface BodySource {
  readonly db: Db
  readonly encryption: Encryption
}

/**
 * The record with its body in `raw`, wherever that is stored, and its headers, all in clear. A body whose retention has ended is
 * empty.
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
