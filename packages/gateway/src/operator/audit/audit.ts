import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { AS_WRITTEN, MAJORITY } from '@oncehook/kernel/mongo/majority'
import { DUPLICATE_KEY } from '@oncehook/kernel/mongo/write-outcome'
import { shareCalls } from '@oncehook/kernel/rpc/share-calls'
import { BSON, type Collection, type Db, type Document, MongoServerError, ObjectId } from 'mongodb'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Operator } from '../access/identify-operator.ts'

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
    | 'orders.correct'
    | 'orders.create'
    | 'orders.delete'
    | 'orders.patch'
    | 'orders.put'
    | 'providers.pause'
    | 'providers.resume'
    | 'replays.cancel'
    | 'receipts.release'
    | 'receipts.release-all'
    | 'sign_in.code_created'
    | 'sign_in.ended'
    | 'sign_in.opened'
  readonly reason: string | null
  /** The subject and the result: names and counts only, as JSON. */
  readonly details: Readonly<Record<string, unknown>>
}

/** An entry to add. With an `id`, it can safely be added again if it is unknown whether it was stored. */
export type NewAuditEntry = Omit<AuditEntry, 'at'> & { readonly id?: ObjectId }

/** The append-only log of who did what. */
export type Audit = ReturnType<typeof createAudit>

const AUDIT = 'audit'

/** One entry per number, so that the chain cannot fork, however many gateways write. */
export const AUDIT_INDEXES: NeededIndexes = {
  collection: AUDIT,
  indexes: [{ name: 'one_entry_per_number', key: { seq: 1 }, unique: true }],
}

/** Dependencies of the audit log. `random`: from 0 to below 1. `reading`: the same database, for what operators read. */
export interface AuditDeps {
  readonly reading: Db
  readonly logger: Logger
  readonly random: () => number
}

/** Opens the audit log of a database whose reads show what a majority holds. */
export function createAudit(db: Db, deps: AuditDeps) {
  const { logger, reading } = deps
  const entries = reading.collection<ChainedEntry>(AUDIT)
  const writer = new ChainWriter(db, deps)
  return {
    /** Adds an entry. When this resolves, a majority holds it and the log has it. The time is the database's. */
    record: (entry: NewAuditEntry): Promise<void> => writer.add([entry]),
    /** The same for several entries. Throws unless all of them were added. */
    recordAll: (added: readonly NewAuditEntry[]): Promise<void> => writer.add(added),
    async has(id: ObjectId): Promise<boolean> {
      return (await entries.findOne({ _id: { $eq: id } }, { projection: { _id: 1 }, readConcern: 'majority' })) !== null
    },
    /** The newest entries, or the newest before the entry `after`, in the order of the chain. */
    async list({ limit, after }: { limit: number; after?: ObjectId | undefined }): Promise<ChainedEntry[]> {
      // Sorting by id is not sufficient: entries of one second, or of gateways whose clocks differ, would be out of order.
      const from =
        after === undefined ? null : await entries.findOne({ _id: { $eq: after } }, { projection: { seq: 1 } })
      if (after !== undefined && from === null) return []
      const seq = from === null ? { $gte: 1 } : { $gte: 1, $lt: from.seq }
      return entries.find({ seq }).sort({ seq: -1 }).limit(limit).toArray()
    },
    /** Entries outside the chain, because they have no number in it: nobody here writes such entries. */
    strays: (): Promise<Document[]> => entries.find(STRAY, { maxTimeMS: SEARCH_MS }).limit(MOST_STRAYS).toArray(),
    /** Checks a part of the chain for somebody, from its beginning or after a link that was checked. */
    async verify(after: ChainLink | null, by: string): Promise<Verification> {
      if (after !== null && !(await isStored(entries, after))) {
        // No alarm: the caller may have made it up. If it has been removed, the chain is broken where it was.
        logger.info({ by, reason: 'after_unknown', seq: after.seq }, 'audit.verified')
        return { ok: false, entries: 0, brokenAt: null, last: null, next: null }
      }
      const verification = await findStray(entries, await verifyChain(entries, { after, seen: writer.last }))
      if (verification.ok) writer.see(verification.last)
      const { ok, brokenAt, last } = verification
      logger[ok ? 'info' : 'error']({ by, ok, brokenAt, entries: last?.seq ?? 0, hash: last?.hash }, 'audit.verified')
      return verification
    },
  }
}

// It is inserted by hand, or its number was taken away. Only numbers can be compared with 1.
const STRAY = { seq: { $not: { $gte: 1 } } }
const MOST_STRAYS = 20

const MAX_WAITING = 10_000
// One command at a time, however long it takes: two would link to the same entry.
const SHARING = { most: 200, patienceMs: 2 ** 31 - 1 }
const ROUNDS_END_MS = 4_000
const WAIT_MS = 20

/** Writes the entries of this process. Those that arrive during a command are written together. */
class ChainWriter {
  /** The newest link that this process knows to be stored. */
  last: ChainLink | null = null
  readonly #db: Db
  readonly #deps: AuditDeps
  readonly #write = shareCalls((added: readonly NewAuditEntry[]) => this.#append(added), SHARING)
  #waiting = 0

  constructor(db: Db, deps: AuditDeps) {
    this.#db = db
    this.#deps = deps
  }

  see(link: ChainLink | null): void {
    if (link !== null && link.seq > (this.last?.seq ?? 0)) this.last = link
  }

  async add(entries: readonly NewAuditEntry[]): Promise<void> {
    if (entries.length === 0) return
    if (this.#waiting >= MAX_WAITING) throw unavailable({ reason: 'audit_crowded' })
    this.#waiting += 1
    try {
      await this.#write(entries)
    } finally {
      this.#waiting -= 1
    }
  }

  /** Stores entries after the newest one. If another gateway was faster, the remaining entries are linked again. */
  async #append(added: readonly NewAuditEntry[]): Promise<readonly undefined[]> {
    let left: readonly Unlinked[] = added.map(({ id = new ObjectId(), ...entry }) => ({ ...asStored(entry), _id: id }))
    const startedAt = performance.now()
    while (left.length > 0) {
      const [last, at] = await Promise.all([readLast(this.#db), readTime(this.#db)])
      const linked = link(left, { last, at })
      const { stored, isKnown } = await insert(this.#db, linked)
      for (const entry of linked.slice(0, stored)) this.#log(entry)
      const rest = left.slice(stored)
      left = isKnown ? await this.#withoutKnown(rest) : rest
      if (left.length === 0) break
      if (performance.now() - startedAt > ROUNDS_END_MS) throw unavailable({ reason: 'audit_crowded' })
      await sleep(this.#deps.random() * WAIT_MS)
    }
    return []
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

/**
 * Inserts in order and stops at the first entry that is refused, so that no number is skipped. `stored`: how many entries are,
 * counted from the beginning. `isKnown`: whether an earlier call has already stored the next one.
 */
async function insert(db: Db, documents: readonly ChainedEntry[]) {
  const reply: Document = await db.command({ insert: AUDIT, documents, ordered: true, writeConcern: MAJORITY })
  const [error] = (reply.writeErrors ?? []) as { index: number; code: number; keyPattern?: Document }[]
  if (error === undefined) return { stored: documents.length, isKnown: false }
  if (error.code !== DUPLICATE_KEY) {
    throw new MongoServerError({ message: 'The database refused an audit entry', code: error.code })
  }
  return { stored: error.index, isKnown: error.keyPattern?._id !== undefined }
}

/** The position of an entry in the chain: its number, counted from 1, and its hash. */
export interface ChainLink {
  readonly seq: number
  /** SHA-256 in hexadecimal, over everything that is stored of the entry and the hash of the one before. */
  readonly hash: string
}

export interface ChainedEntry extends AuditEntry, ChainLink {
  readonly _id: ObjectId
  /** The hash of the entry before; null for the first one. */
  readonly previous: string | null
}

/** Appends an entry to the chain that ends with `last`. */
export function linkEntry(entry: AuditEntry & { readonly _id: ObjectId }, last: ChainLink | null): ChainedEntry {
  const linked = { ...entry, seq: (last?.seq ?? 0) + 1, previous: last?.hash ?? null }
  return { ...linked, hash: hashOf(linked) }
}

const NAMES = ['_id', 'action', 'at', 'by', 'details', 'hash', 'previous', 'reason', 'seq'].join()

/** Whether a stored entry is unchanged and continues the chain that ends with `last`. */
export function continuesChain(stored: ChainedEntry, last: ChainLink | null): boolean {
  try {
    const { seq, previous, hash: _, ...entry } = stored
    const expected = linkEntry(entry, last)
    return (
      expected.seq === seq &&
      expected.previous === previous &&
      expected.hash === stored.hash &&
      Object.keys(stored).toSorted().join() === NAMES
    )
  } catch {
    // A stored value has another type.
    return false
  }
}

function hashOf({ seq, previous, _id, at, by, action, reason, details }: Omit<ChainedEntry, 'hash'>): string {
  return hash('sha256', JSON.stringify([seq, previous, String(_id), at.toISOString(), by, action, reason, details]))
}

export interface Verification {
  /** Whether every entry of this part is unchanged and follows the one before, and none is outside the chain. */
  readonly ok: boolean
  /** The number of entries that were checked and are valid. */
  readonly entries: number
  /**
   * The id of the first entry that is not valid, or of one outside the chain. Null if there is none, or if the newest entries
   * or the entry of `after` are missing.
   */
  readonly brokenAt: string | null
  /** The last entry that fits. Compare it with the log, which has the number and hash of each entry. */
  readonly last: ChainLink | null
  /** Where to continue; null at the end of the chain. */
  readonly next: ChainLink | null
}

const PAGE = 20_000
// Other work, such as deliveries, runs between two batches.
const AT_ONCE = 500
const SEARCH_MS = 5_000

/**
 * Checks at most 20,000 entries, from the first or after that of `after`, which exists. `seen` is a link that this
 * process knows to be stored. Without it, the newest entries could be removed unnoticed.
 */
async function verifyChain(
  entries: Collection<ChainedEntry>,
  { after, seen }: { readonly after: ChainLink | null; readonly seen: ChainLink | null },
): Promise<Verification> {
  let last = after
  let count = 0
  const cursor = entries
    .find({ seq: { $gt: after?.seq ?? 0 } }, { maxTimeMS: SEARCH_MS, batchSize: AT_ONCE })
    .sort({ seq: 1 })
    .limit(PAGE)
  for await (const entry of cursor) {
    const isKnown = entry.seq !== seen?.seq || entry.hash === seen.hash
    if (!continuesChain(entry, last) || !isKnown) {
      return { ok: false, entries: count, brokenAt: String(entry._id), last, next: null }
    }
    last = { seq: entry.seq, hash: entry.hash }
    count += 1
  }
  const isEnd = count < PAGE
  const isShort = isEnd && (last?.seq ?? 0) < (seen?.seq ?? 0)
  return { ok: !isShort, entries: count, brokenAt: null, last, next: isEnd ? null : last }
}

/** An entry outside the chain breaks it too. */
async function findStray(entries: Collection<ChainedEntry>, found: Verification): Promise<Verification> {
  const stray = found.ok ? await entries.findOne(STRAY, { projection: { _id: 1 }, maxTimeMS: SEARCH_MS }) : null
  return stray === null ? found : { ...found, ok: false, brokenAt: String(stray._id), next: null }
}

async function isStored(entries: Collection<ChainedEntry>, { seq, hash }: ChainLink): Promise<boolean> {
  return (await entries.findOne({ seq, hash }, { projection: { _id: 1 }, maxTimeMS: SEARCH_MS })) !== null
}

export type OperatorAudit = Omit<Audit, 'recordAll'>

export type OpenOperatorAudit = (operator: Pick<Operator, 'name' | 'identity'>) => OperatorAudit

// They say how something ended whose beginning was counted: a session must end, and a rotation ends once.
const NEVER_REFUSED: ReadonlySet<AuditEntry['action']> = new Set(['encryption.rotated', 'sign_in.ended'])

/**
 * Limits what an operator can write: entries are kept forever. The first entry of a call counts, and is refused with
 * `rate_limited` beyond the limit; the call has done nothing yet. Its later entries say how it ended. Entries also show the
 * issuer's claims about the operator, because the subject alone means little to a reader.
 */
export function limitAudit({ recordAll: _, ...audit }: Audit, limit: RateLimit): OpenOperatorAudit {
  return ({ name, identity }) => {
    let isCounted = false
    const count = (): void => {
      const allowance = limit.count(name)
      if (allowance.remaining < 0) throw limit.refusal(allowance, { reason: 'audited' })
      isCounted = true
    }
    return {
      ...audit,
      async record(entry) {
        if (!isCounted && !NEVER_REFUSED.has(entry.action)) count()
        const shown = identity === null ? {} : { operator: { ...identity } }
        await audit.record({ ...entry, details: { ...entry.details, ...shown } })
      },
    }
  }
}
