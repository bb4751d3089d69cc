// The procedures of the audit log. `audit.list` shows every entry that there is, and marks those that the chain does not vouch for: an entry that
// somebody has inserted into the database must not pass for one of ours.
import { type Document, ObjectId } from 'mongodb'
import { z } from 'zod'
import { pageMembers } from '../events/event-filter.ts'
import { procedure } from '../operator-trpc.ts'
import { type AuditEntry, type ChainedEntry, type ChainLink, continuesChain } from './audit.ts'

interface ShownEntry extends Pick<AuditEntry, 'by' | 'action' | 'reason' | 'details'> {
  readonly id: string
  readonly at: string
  /** Null outside the chain. */
  readonly seq: number | null
  readonly previous: string | null
  readonly hash: string | null
  /** Whether it is unchanged and follows the entry before it. If not, it was inserted or changed in the database. */
  readonly isInChain: boolean
}

/**
 * `audit.list`: who did what and why, newest first. Before the first page, up to 20 entries outside the chain. Only the actions that it lists
 * write to the audit log.
 */
export const listAuditProcedure = procedure
  .input(z.strictObject(pageMembers).prefault({}))
  .query(async ({ ctx, input: { limit, after } }) => {
    const [found, strays] = await Promise.all([
      ctx.audit.list({ limit: limit + 1, after: after === undefined ? undefined : new ObjectId(after) }),
      after === undefined ? ctx.audit.strays() : [],
    ])
    const fitting = findFitting(found)
    const page = found.slice(0, limit)
    const items = [
      ...strays.map((stray) => showEntry({ ...stray, seq: null, previous: null, hash: null }, false)),
      ...page.map((entry) => showEntry(entry, fitting.has(entry))),
    ]
    return { items, next: found.length > limit ? String(page.at(-1)?._id) : null }
  })

/** The entries that follow the one before, of entries with the newest first. The oldest one counts as it is, unless it is the first of all. */
function findFitting(entries: readonly ChainedEntry[]): ReadonlySet<ChainedEntry> {
  const fitting = new Set<ChainedEntry>()
  let last: ChainLink | null = null
  for (const entry of entries.toReversed()) {
    const before = last ?? linkBefore(entry)
    if (!Number.isInteger(entry.seq) || !continuesChain(entry, before)) continue
    fitting.add(entry)
    last = entry
  }
  return fitting
}

/** The link that an entry says it follows. */
function linkBefore({ seq, previous }: ChainedEntry): ChainLink | null {
  return previous === null ? null : { seq: seq - 1, hash: previous }
}

/** Anything can be in an entry that somebody else has written. */
function showEntry(
  { _id, at, by, action, reason, details, seq, previous, hash }: Document,
  isInChain: boolean,
): ShownEntry {
  return {
    id: String(_id),
    at: at instanceof Date && !Number.isNaN(at.getTime()) ? at.toISOString() : String(at),
    by: String(by),
    action: String(action) as AuditEntry['action'],
    reason: typeof reason === 'string' ? reason : null,
    details: typeof details === 'object' && details !== null ? details : {},
    ...{ seq, previous, hash, isInChain },
  }
}

const linkSchema = z.strictObject({
  seq: z.int().min(1),
  hash: z
    .string()
    .length(64)
    .regex(/^[0-9a-f]+$/),
})

/**
 * `audit.verify`: whether the entries are unchanged, none is missing and none was added, 20,000 at a time. `after` is the `next` of the
 * previous part.
 */
export const verifyAuditProcedure = procedure
  .input(z.strictObject({ after: linkSchema.optional() }).prefault({}))
  .query(({ ctx, input: { after = null } }) => ctx.audit.verify(after, ctx.operator))
