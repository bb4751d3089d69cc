import type { Collection } from 'mongodb'
import { type ChainedEntry, type ChainLink, continuesChain } from './audit-chain.ts'

/** The result of checking a part of the chain. */
export interface Verification {
  /** Whether every entry of this part is unchanged and follows the one before. */
  readonly ok: boolean
  /** The number of entries that were checked and are valid. */
  readonly entries: number
  /**
   * The id of the first entry that is not valid. Null if there is none, or if the newest entries or the entry of
   * `after` are missing.
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
 * Checks the entry of `after`, which must exist, and at most 20,000 entries after it. `seen` is a link that this
 * process knows to be stored. Without it, the newest entries could be removed unnoticed.
 */
export async function verifyChain(
  entries: Collection<ChainedEntry>,
  { after, seen }: { readonly after: ChainLink | null; readonly seen: ChainLink | null },
): Promise<Verification> {
  if (after !== null && !(await isStored(entries, after))) {
    return { ok: false, entries: 0, brokenAt: null, last: null, next: null }
  }
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

async function isStored(entries: Collection<ChainedEntry>, { seq, hash }: ChainLink): Promise<boolean> {
  return (await entries.findOne({ seq, hash }, { projection: { _id: 1 }, maxTimeMS: SEARCH_MS })) !== null
}
