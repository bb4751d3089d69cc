import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { Db } from 'mongodb'
import type { RingContents } from './refusal-buffer.ts'
import { type NotKeptDocument, REFUSALS } from './refusal-document.ts'
import { kindOf, slotsOf } from './refusal-rings.ts'

/** What a write needs: the database, the time in milliseconds, and the slots that this process has taken, by ring. */
export interface WriteTarget {
  readonly db: Db
  readonly now: number
  readonly slots: Map<string, readonly number[]>
}

/** How long a refused delivery is kept. */
const RETENTION_MS = 7 * 86_400_000
const WITHIN_MS = 2_000
const TAKEN_AT_ONCE = 20

/**
 * Writes records and counts with one command. Resolves to the number of statements that the database refused.
 * @throws MongoError if it is unknown whether a majority has them
 */
export async function writeRefusals(target: WriteTarget, contents: readonly RingContents[]): Promise<number> {
  const updates = await Promise.all(
    contents.map(async (one) => [...(await recordUpdates(target, one)), ...countUpdates(target, one)]),
  )
  const { refused } = await sendUpdates(target.db, { update: REFUSALS, updates: updates.flat(), withinMs: WITHIN_MS })
  return refused.length
}

async function recordUpdates(target: WriteTarget, contents: RingContents): Promise<object[]> {
  const { provider, ring, kept } = contents
  if (kept.length === 0) return []
  const slots = await slotsFor(target, contents)
  const expireAt = new Date(target.now + RETENTION_MS)
  return kept.map((record, index) => ({
    q: { _id: { provider, ring, slot: slots[index] } },
    u: { ...record, expireAt },
    upsert: true,
  }))
}

/**
 * The slots for the records of a ring. Each process takes some in advance, so that several processes do not replace each
 * other's records, and most writes are one command.
 */
async function slotsFor(target: WriteTarget, contents: RingContents): Promise<readonly number[]> {
  const { provider, ring, kept } = contents
  const key = `${provider}\n${ring}`
  const free = target.slots.get(key) ?? []
  const all = free.length < kept.length ? [...free, ...(await takeSlots(target, contents))] : free
  target.slots.set(key, all.slice(kept.length))
  return all.slice(0, kept.length)
}

async function takeSlots({ db, now }: WriteTarget, { provider, ring, kept }: RingContents): Promise<number[]> {
  const wanted = Math.max(kept.length, TAKEN_AT_ONCE)
  const found = await db
    .collection<NotKeptDocument>(REFUSALS)
    .findOneAndUpdate(
      { _id: { provider, ring, slot: -1 } },
      { $inc: { taken: wanted }, ...countedAt(ring, { provider, now }) },
      { upsert: true, returnDocument: 'after', projection: { taken: 1 }, maxTimeMS: WITHIN_MS },
    )
  const end = found?.taken ?? wanted
  return Array.from({ length: wanted }, (_, index) => (end - wanted + index) % slotsOf(ring))
}

function countUpdates({ now }: WriteTarget, { provider, ring, notKept }: RingContents): object[] {
  if (notKept === 0) return []
  const u = { $inc: { count: notKept }, ...countedAt(ring, { provider, now }) }
  return [{ q: { _id: { provider, ring, slot: -1 } }, u, upsert: true }]
}

function countedAt(ring: string, { provider, now }: { readonly provider: string; readonly now: number }) {
  const at = new Date(now)
  return {
    $set: { provider, ...kindOf(ring), lastAt: at, expireAt: new Date(now + RETENTION_MS) },
    $setOnInsert: { since: at },
  }
}
