import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { ObjectId } from 'mongodb'
import { EVENTS, type EventDocument, PROCESSING_INDEX } from '../../event-document.ts'
import { releaseFromHolder } from '../../transitions.ts'
import type { Claim } from '../claim.ts'
import type { ClaimsDeps } from '../claims-deps.ts'
import { SEARCH_MS } from '../find-due.ts'
import { BY_ID, withIds } from '../take-claims.ts'

/**
 * The stray records of this process: they name it as their holder, but it does not hold them. The answer to an insert or
 * to a claim was lost, or a result could not be written. Nobody would take them over, because their holder is alive.
 */
export interface StrayRecords {
  /** Says that the outcome of a write is unknown. The next search is then not delayed. */
  doubt(): void
  /**
   * Releases stray records. They are due at once, for any process, and the raised fence drops later writes. Asks the
   * database after a doubt, and otherwise once in a lease. `held` returns what the process holds; it is called after the
   * database has answered. Resolves to the number of released records: the next call finds those that are left.
   */
  release(held: () => Iterable<Pick<Claim, '_id'>>): Promise<number>
}

/**
 * How long a record must be without a holder, in milliseconds. Meanwhile the answer to the write of a record may come: a
 * delivery of many events is answered within 10 s, and its last command ends within 6 s more.
 */
export const STRAY_AFTER_MS = 20_000
const MOST_RELEASED = 1_000

type StrayDeps = Pick<ClaimsDeps, 'db' | 'owner' | 'leaseMs' | 'monotonicMs'>
type Unheld = Pick<EventDocument, '_id' | 'fence'>

/** Creates the search of one process for its stray records. */
export function createStrayRecords(deps: StrayDeps): StrayRecords {
  const { leaseMs, monotonicMs = () => performance.now() } = deps
  let isDoubted = false
  let nextAt = monotonicMs() + leaseMs
  let seen = new Map<string, number>()
  const find = async (held: () => Iterable<Pick<Claim, '_id'>>): Promise<Unheld[]> => {
    const own = await findOwn(deps)
    const heldIds = new Set(Array.from(held(), ({ _id }) => String(_id)))
    const unheld = await readFences(
      deps,
      own.filter((_id) => !heldIds.has(String(_id))),
    )
    const now = monotonicMs()
    const sinceOf = (one: Unheld): number => seen.get(nameOf(one)) ?? now
    seen = new Map(unheld.map((one) => [nameOf(one), sinceOf(one)]))
    const stray = unheld.filter((one) => now - sinceOf(one) >= STRAY_AFTER_MS)
    if (stray.length > MOST_RELEASED) nextAt = now
    else nextAt = now + (unheld.length > stray.length ? STRAY_AFTER_MS : leaseMs)
    return stray.slice(0, MOST_RELEASED)
  }
  return {
    doubt() {
      isDoubted = true
    },
    async release(held) {
      if (!isDoubted && monotonicMs() < nextAt) return 0
      isDoubted = false
      try {
        return await releaseThese(deps, await find(held))
      } catch (error) {
        isDoubted = true
        throw error
      }
    },
  }
}

function releaseThese({ db, owner }: StrayDeps, stray: readonly Unheld[]): Promise<number> {
  const updates = [...Map.groupBy(stray, ({ fence }) => fence)].map(([fence, records]) => {
    const q = { ...withIds(records), state: 'processing', leaseOwner: owner, fence }
    return { q, u: releaseFromHolder(), multi: true, hint: BY_ID }
  })
  return bulkUpdate(db, { update: EVENTS, updates })
}

function nameOf({ _id, fence }: Unheld): string {
  return `${_id} ${fence}`
}

/** All records in process under the name of this process. The index alone answers this. */
async function findOwn({ db, owner }: StrayDeps): Promise<ObjectId[]> {
  const filter = { state: 'processing', leaseOwner: owner } as const
  const found = await db
    .collection<EventDocument>(EVENTS)
    .find(filter, { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS })
    .project<Pick<EventDocument, '_id'>>({ _id: 1 })
    .toArray()
  return found.map(({ _id }) => _id)
}

async function readFences({ db, owner }: StrayDeps, ids: readonly ObjectId[]): Promise<Unheld[]> {
  if (ids.length === 0) return []
  const events = db.collection<EventDocument>(EVENTS)
  const filter = { _id: { $in: [...ids] }, state: 'processing', leaseOwner: owner } as const
  const found = events.find(filter, { hint: PROCESSING_INDEX })
  return found.maxTimeMS(SEARCH_MS).project<Unheld>({ fence: 1 }).toArray()
}
