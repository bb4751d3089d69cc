import { hash } from 'node:crypto'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { durableRead, MAJORITY } from '@oncehook/kernel/mongo/majority'
import { writeResultsOf } from '@oncehook/kernel/mongo/write-outcome'
import { monotonicMs } from '@oncehook/kernel/time/clock'
import { GroupCommit } from '@oncehook/queue/insert/group-commit'
import type { InboxDeps } from './inbox.ts'

interface TransmissionDocument {
  /** Provider, id and checksum. The unique `_id` binds them to one body, whichever gateway they reach. */
  readonly _id: string
  readonly bodyHash: string
  /** From this time on its signature is too old to count. */
  readonly expireAt: Date
}

/** A delivery whose signature covers an id of the transmission, but covers the body only by a checksum. */
interface Transmission {
  readonly provider: string
  readonly id: string
  readonly checksum: number
  readonly rawBody: Buffer
  /** Milliseconds. After this time the signature no longer counts. */
  readonly countsUntil: number
}

/** `reused`: this transmission came with another body before. `unknown`: this cannot be determined now. */
type TransmissionResult = 'first' | 'repeated' | 'reused' | 'unknown'

export const TRANSMISSIONS = 'transmissions'

export const TRANSMISSION_INDEXES: NeededIndexes = {
  collection: TRANSMISSIONS,
  indexes: [{ name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0 }],
}

// The clocks of gateway and database may differ.
const MARGIN_MS = 86_400_000
const MAX_KNOWN = 10_000
const DOCUMENT_BYTES = 300
const DURABLE_READ = durableRead(3_000)

export type Transmissions = ReturnType<typeof createTransmissions>

/** If the checksum differs, the sender has signed the transmission again: it gets a separate binding. */
export function createTransmissions({ db, errors }: Pick<InboxDeps, 'db' | 'errors'>) {
  // Only entries that a majority holds. A flood with one transmission does not reach the database.
  const known = new Map<string, string>()
  const writeGroup = async (documents: TransmissionDocument[]) => {
    try {
      const command = { insert: TRANSMISSIONS, documents, ordered: false, writeConcern: MAJORITY }
      const reply = await db.command(command)
      errors.countReply(reply)
      return writeResultsOf(reply, documents.length)
    } catch (error) {
      errors.count(error)
      throw error
    }
  }
  const group = new GroupCommit<TransmissionDocument>(writeGroup, monotonicMs)
  const readHash = async (_id: string): Promise<string | null> => {
    const found = await db.collection<TransmissionDocument>(TRANSMISSIONS).findOne({ _id }, DURABLE_READ)
    return found?.bodyHash ?? null
  }
  const remember = (_id: string, bodyHash: string): void => {
    if (known.size >= MAX_KNOWN) known.delete(known.keys().next().value ?? '')
    known.set(_id, bodyHash)
  }
  return {
    /** What `bind` would resolve to, without binding anything. A `first` may change a moment later. */
    async find(transmission: Transmission): Promise<TransmissionResult> {
      const { _id, bodyHash } = keyOf(transmission)
      const before = known.get(_id)
      if (before !== undefined) return compare(before, bodyHash)
      const bound = await readHash(_id).catch(() => undefined)
      if (bound === undefined) return 'unknown'
      if (bound === null) return 'first'
      remember(_id, bound)
      return compare(bound, bodyHash)
    },
    /** Resolves to `first` or `repeated` only if a majority holds that this transmission has this body. */
    async bind(transmission: Transmission): Promise<TransmissionResult> {
      const { _id, bodyHash } = keyOf(transmission)
      const { countsUntil } = transmission
      const before = known.get(_id)
      if (before !== undefined) return compare(before, bodyHash)
      const document = { _id, bodyHash, expireAt: new Date(countsUntil + MARGIN_MS) }
      const verdict = await group.write(document, DOCUMENT_BYTES)
      if (verdict === 'unknown') return 'unknown'
      // If two bodies arrive at the same time, the index accepts one, and the other finds it here.
      const bound = verdict === 'stored' ? bodyHash : await readHash(_id).catch(() => null)
      if (bound === null) return 'unknown'
      remember(_id, bound)
      return verdict === 'stored' ? 'first' : compare(bound, bodyHash)
    },
  }
}

function keyOf({ provider, id, checksum, rawBody }: Transmission): Pick<TransmissionDocument, '_id' | 'bodyHash'> {
  return { _id: `${provider}:${id}:${checksum}`, bodyHash: hash('sha256', rawBody, 'base64') }
}

function compare(bound: string, bodyHash: string): TransmissionResult {
  return bound === bodyHash ? 'repeated' : 'reused'
}
