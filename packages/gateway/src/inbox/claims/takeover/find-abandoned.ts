import type { Db, Document } from 'mongodb'
import { EVENTS, FULFILMENT, PROCESSING_INDEX } from '../../event-document.ts'
import type { ClaimsDeps } from '../claims-deps.ts'
import { SEARCH_MS } from '../find-due.ts'
import type { Owners } from './owners.ts'

/** The records of processes that have died. */
interface Abandoned {
  /** Matches them. Null if there are none. */
  readonly filter: Document | null
  /**
   * Matches those that no dispatcher would take over, because their handlers are not configured. Null if it is not for
   * these claims to release them.
   */
  readonly unclaimed: Document | null
  /** When to look again at the latest, in milliseconds: as soon as the lease of a living process may end. */
  readonly againInMs: number
}

/** Which of the other processes that hold records may have died. */
export type Holders = Awaited<ReturnType<Owners['findDead']>>

/**
 * Finds the records of other processes that have died. It examines no record of a living process: the index says who
 * holds records, and `owners` who is alive. `ageMs`: how long ago the holders were looked at.
 */
export function findAbandoned(deps: ClaimsDeps, holders: Holders, ageMs: number): Abandoned {
  const { dead, endsInMs } = holders
  const againInMs = endsInMs - ageMs
  if (dead.length === 0) return { filter: null, unclaimed: null, againInMs }
  const filter = { state: 'processing', leaseOwner: { $in: [...dead] } }
  return { filter: { ...filter, handler: deps.handler }, unclaimed: ofNobody(deps, filter), againInMs }
}

/** Only fulfilment, which every gateway has, looks after the tasks of handlers that were removed. */
function ofNobody({ handler, configured }: ClaimsDeps, all: Document): Document | null {
  return handler === FULFILMENT ? { ...all, handler: { $nin: [FULFILMENT, ...(configured?.() ?? [])] } } : null
}

/** Finds the other processes that hold records, and which of them may have died. */
export async function readHolders(
  { db, owner }: Pick<ClaimsDeps, 'db' | 'owner'>,
  owners: Pick<Owners, 'findDead'>,
): Promise<Holders> {
  const others = (await findHolders(db)).filter((holder) => holder !== owner)
  if (others.length === 0) return { dead: [], endsInMs: Number.POSITIVE_INFINITY }
  return owners.findDead(others)
}

/** The processes that hold records. The index is read once for each process, however many records it holds. */
async function findHolders(db: Db): Promise<string[]> {
  const pipeline = [
    { $match: { state: 'processing' } },
    { $sort: { state: 1, leaseOwner: 1, _id: 1 } },
    { $group: { _id: '$leaseOwner' } },
  ]
  const options = { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS }
  const found = await db.collection(EVENTS).aggregate<{ readonly _id: string }>(pipeline, options).toArray()
  return found.map(({ _id }) => _id)
}
