import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import { DUPLICATE_KEY } from '@oncehook/kernel/mongo/write-outcome'
import { BSON, type Collection, type Db, type Document, MongoServerError, ObjectId } from 'mongodb'
import { AS_WRITTEN } from '../events/as-written.ts'
import { type ChainedEntry, type ChainLink, linkEntry } from './audit-chain.ts'
import { type Verification, verifyChain } from './verify-chain.ts'

/**
 * An action of an operator, of a client of the orders API, or of a provider's delivery. Entries are never changed or
 * removed.
 */
export interface AuditEntry {
  readonly at: Date
  /** The name of an operator, `api:<principal>`, or `provider:<name>`. */
  readonly by: string
  readonly action:
    | 'encryption.rotate'
    | 'encryption.rotated'
    | 'erase'
    | 'events.close'
    | 'events.read-body'
    | 'events.release'
    | 'events.replay'
    | 'events.revive'
    | 'events.search-bodies'
    | 'events.send-test'
    | 'handlers.backfill'
    | 'handlers.discard'
    | 'handlers.pause'
    | 'handlers.resume'
    | 'orders.create'
    | 'orders.delete'
    | 'orders.patch'
    | 'orders.put'
    | 'providers.pause'
    | 'providers.resume'
    | 'replays.cancel'
    | 'receipts.release'
    | 'sign_in.code_created'
    | 'sign_in.ended'
    | 'sign_in.opened'
  readonly reason: string | null
  /** The subject and the result: names and counts only, as JSON. */
  readonly details: Readonly<Record<string, unknown>>
}

/** An entry to add. With an `id`, it can safely be added again if it is unknown whether it was stored. */
export type NewAuditEntry = Omit<AuditEntry, 'at'> & { readonly id?: ObjectId }

interface AuditPage {
  readonly limit: number
  readonly after?: ObjectId | undefined
}

/** The append-only log of who did what. */
export interface Audit {
  /** Adds an entry. When this resolves, a majority holds it and the log has it. The time is the database's. */
  record(entry: NewAuditEntry): Promise<void>
  /** The same for several entries. Throws unless all of them were added. */
  recordAll(entries: readonly NewAuditEntry[]): Promise<void>
  /** Whether an entry with this id is stored. */
  has(id: ObjectId): Promise<boolean>
  /** The newest entries, or the newest before the entry `after`, in the order of the chain. */
  list(page: AuditPage): Promise<ChainedEntry[]>
  /** Checks a part of the chain, from its beginning or after a link that was checked. */
  verify(after: ChainLink | null): Promise<Verification>
}

/** The collection of the audit log. */
const AUDIT = 'audit'

/** One entry per number, so that the chain cannot fork, however many gateways write. */
export const AUDIT_INDEXES: NeededIndexes = {
  collection: AUDIT,
  indexes: [{ name: 'one_entry_per_number', key: { seq: 1 }, unique: true }],
}

/** Dependencies of the audit log. `random`: from 0 to below 1. */
export interface AuditDeps {
  readonly logger: Logger
  readonly random: () => number
}

/** Opens the audit log of a database whose reads show what a majority holds. */
export function createAudit(db: Db, deps: AuditDeps): Audit {
  const { logger } = deps
  const entries = db.collection<ChainedEntry>(AUDIT)
  const writer = new ChainWriter(db, deps)
  return {
    record: (entry) => writer.add([entry]),
    recordAll: (added) => writer.add(added),
    async has(id) {
      return (await entries.findOne({ _id: { $eq: id } }, { projection: { _id: 1 }, readConcern: 'majority' })) !== null
    },
    list: (page) => listEntries(entries, page),
    async verify(after) {
      const verification = await verifyChain(entries, { after, seen: writer.last })
      if (verification.ok) writer.see(verification.last)
      const { ok, brokenAt, last } = verification
      logger[ok ? 'info' : 'error']({ ok, brokenAt, entries: last?.seq ?? 0, hash: last?.hash }, 'audit.verified')
      return verification
    },
  }
}

/** Sorting by id is not sufficient: entries of one second, or of gateways whose clocks differ, would be out of order. */
async function listEntries(entries: Collection<ChainedEntry>, { limit, after }: AuditPage): Promise<ChainedEntry[]> {
  const from = after === undefined ? null : await entries.findOne({ _id: { $eq: after } }, { projection: { seq: 1 } })
  if (after !== undefined && from === null) return []
  const seq = from === null ? { $gte: 1 } : { $gte: 1, $lt: from.seq }
  return entries.find({ seq }).sort({ seq: -1 }).limit(limit).toArray()
}

interface Waiting {
  readonly entries: readonly NewAuditEntry[]
  readonly settle: (error?: unknown) => void
}

const MAX_WAITING = 10_000
const MOST_AT_ONCE = 200
const ROUNDS_END_MS = 4_000
const WAIT_MS = 20

/**
 * Writes the entries of this process, one command at a time. Entries that arrive during a command are written together.
 */
class ChainWriter {
  /** The newest link that this process knows to be stored. */
  last: ChainLink | null = null
  readonly #db: Db
  readonly #deps: AuditDeps
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(db: Db, deps: AuditDeps) {
    this.#db = db
    this.#deps = deps
  }

  see(link: ChainLink | null): void {
    if (link !== null && link.seq > (this.last?.seq ?? 0)) this.last = link
  }

  add(entries: readonly NewAuditEntry[]): Promise<void> {
    if (entries.length === 0) return Promise.resolve()
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(unavailable({ reason: 'audit_crowded' }))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entries, settle: (error) => (error === undefined ? resolve() : reject(error)) })
      if (!this.#isWriting) void this.#write()
    })
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch()
      const error = await this.#append(batch.flatMap(({ entries }) => entries)).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      for (const { settle } of batch) settle(error)
    }
    this.#isWriting = false
  }

  #takeBatch(): Waiting[] {
    let count = 0
    const end = this.#waiting.findIndex(({ entries }, index) => {
      count += entries.length
      return index > 0 && count > MOST_AT_ONCE
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  /** Stores entries after the newest one. If another gateway was faster, the remaining entries are linked again. */
  async #append(added: readonly NewAuditEntry[]): Promise<void> {
    let left: readonly Unlinked[] = added.map(({ id = new ObjectId(), ...entry }) => ({ ...asStored(entry), _id: id }))
    const startedAt = performance.now()
    while (left.length > 0) {
      const [last, at] = await Promise.all([readLast(this.#db), readTime(this.#db)])
      const linked = link(left, { last, at })
      const { stored, isKnown } = await insert(this.#db, linked)
      for (const entry of linked.slice(0, stored)) this.#log(entry)
      const rest = left.slice(stored)
      left = isKnown ? await this.#withoutKnown(rest) : rest
      if (left.length === 0) return
      if (performance.now() - startedAt > ROUNDS_END_MS) throw unavailable({ reason: 'audit_crowded' })
      await sleep(this.#deps.random() * WAIT_MS)
    }
  }

  /**
   * Leaves out the entries that are already stored, as the first one is, and logs them. They were added by an earlier call
   * whose answer was lost, and so were their log lines.
   */
  async #withoutKnown(added: readonly Unlinked[]): Promise<Unlinked[]> {
    const entries = this.#db.collection<ChainedEntry>(AUDIT)
    const _id = { $in: added.map((entry) => entry._id) }
    const stored = await entries.find({ _id }, { readConcern: 'majority' }).sort({ seq: 1 }).toArray()
    const known = new Set(stored.map(({ _id }) => String(_id)))
    if (!known.has(String(added[0]?._id))) throw unavailable({ reason: 'audit_unconfirmed' })
    for (const entry of stored) this.#log(entry)
    return added.filter(({ _id }) => !known.has(String(_id)))
  }

  #log({ _id, previous: _, ...entry }: ChainedEntry): void {
    this.see(entry)
    this.#deps.logger.info({ id: String(_id), ...entry, at: entry.at.toISOString() }, 'audit.recorded')
  }
}

/** An entry as it will be read again, for the hash. For example, half a surrogate pair is then another character. */
function asStored<Entry extends Pick<AuditEntry, 'details'>>(entry: Entry): Entry {
  const details: unknown = JSON.parse(JSON.stringify(entry.details))
  return BSON.deserialize(BSON.serialize({ ...entry, details })) as Entry
}

type Unlinked = Omit<AuditEntry, 'at'> & { readonly _id: ObjectId }

function link(entries: readonly Unlinked[], begin: { last: ChainLink | null; at: Date }): ChainedEntry[] {
  let { last } = begin
  return entries.map((entry) => {
    const linked = linkEntry({ ...entry, at: begin.at }, last)
    last = linked
    return linked
  })
}

/**
 * Reads the newest link from the primary, confirmed or not. If it is rolled back, so are the entries written after it.
 */
async function readLast(db: Db): Promise<ChainLink | null> {
  const options = { projection: { _id: 0, seq: 1, hash: 1 }, ...AS_WRITTEN }
  const [last] = await db
    .collection<ChainedEntry>(AUDIT)
    .find({ seq: { $gte: 1 } }, options)
    .sort({ seq: -1 })
    .limit(1)
    .toArray()
  return last ?? null
}

async function readTime(db: Db): Promise<Date> {
  const { localTime } = await db.command({ hello: 1 })
  return localTime as Date
}

interface Inserted {
  /** How many entries are stored, counted from the beginning. */
  readonly stored: number
  /** Whether an earlier call has already stored the next one. */
  readonly isKnown: boolean
}

/** Inserts in order and stops at the first entry that is refused, so that no number is skipped. */
async function insert(db: Db, documents: readonly ChainedEntry[]): Promise<Inserted> {
  const reply: Document = await db.command({ insert: AUDIT, documents, ordered: true, writeConcern: MAJORITY })
  const [error] = (reply.writeErrors ?? []) as { index: number; code: number; keyPattern?: Document }[]
  if (error === undefined) return { stored: documents.length, isKnown: false }
  if (error.code !== DUPLICATE_KEY) {
    throw new MongoServerError({ message: 'The database refused an audit entry', code: error.code })
  }
  return { stored: error.index, isKnown: error.keyPattern?._id !== undefined }
}
