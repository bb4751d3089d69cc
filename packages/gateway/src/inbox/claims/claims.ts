import type { Document } from 'mongodb'
import { EVENTS, type EventDocument, PROCESSING_INDEX } from '../event-document.ts'
import { createLines } from '../lines/lines.ts'
import { release } from '../transitions.ts'
import type { Claim, SettledClaim } from './claim.ts'
import type { ClaimsDeps } from './claims-deps.ts'
import { createFill } from './fill-claims.ts'
import { isDue, SEARCH_MS } from './find-due.ts'
import { settleHeld, updateHeld } from './held-claims.ts'
import { type Seen, shareLook } from './shared-look.ts'
import { type NamedRecord, type Taken, takeClaims } from './take-claims.ts'
import { failPoisonEvents, mayBePoison } from './takeover/fail-poison-events.ts'
import { findAbandoned, type Holders, readHolders } from './takeover/find-abandoned.ts'
import { createOwners, type Owners } from './takeover/owners.ts'
import { releaseUnclaimed } from './takeover/release-unclaimed.ts'
import { createStrayRecords, type StrayRecords } from './takeover/stray-records.ts'

/** Claims, keeps and releases records. All times come from the database's clock, and every write is fenced. */
export interface Claims {
  /**
   * Claims up to `limit` due records, new ones and retries alike, the longest due first. Records of paused providers are not
   * claimed, but left out of later searches until their provider is resumed. Nor are tasks that
   * wait in line. `isExpected`: there should be a due record.
   */
  claimDue(limit: number, isExpected?: boolean): Promise<Claim[]>
  /**
   * Claims up to `limit` records of processes that have died. Marks records as dead that seem to crash their holders. The
   * claims of fulfilment also release tasks of handlers that are not configured.
   */
  takeOver(limit: number): Promise<TakenOver>
  /**
   * Releases records that name this process as their holder but are not held by it, because the outcome of a write was
   * unknown. `held` returns the claims that it does hold; it is called after the database has answered. Resolves to the
   * number of released records.
   */
  releaseStrays(held: () => Iterable<Claim>): Promise<number>
  /**
   * Writes that an attempt of these claims begins. They have lost a holder before. If this process dies, its death
   * counts towards marking a record as dead only if the record was attempted `alone`, with nothing else in progress.
   * With `together`, the death makes each of them a suspect.
   */
  begin(claims: readonly Claim[], company: 'alone' | 'together'): Promise<void>
  /** Writes that this process is alive, for one more lease. Call it before any claim, and three times during a lease. */
  beat(): Promise<void>
  /** Ends the lease of this process, so that others take over at once what it still holds. */
  leave(): Promise<void>
  /** Says that it is unknown whether claims were made on insert, so that `releaseStrays` looks for them soon. */
  doubt(): void
  /**
   * Writes outcomes in bulk. It is safe to repeat after a failure. Resolves to those whose claim was lost in the
   * meantime: their outcomes are dropped.
   */
  settle(settled: readonly SettledClaim[]): Promise<readonly SettledClaim[]>
  /** Releases claims without an attempt. They are due at once, and nothing counts for or against them. */
  release(claims: readonly Claim[]): Promise<void>
}

/** What a takeover claimed, and how many records it marked as dead. */
interface TakenOver {
  readonly taken: Claim[]
  readonly poisoned: number
  /** When to look again at the latest, in milliseconds, because the lease of a holder may have ended. Can be infinite. */
  readonly againInMs: number
}

/** What the claims of all handlers of one process share: its lease, and the records that it has lost. */
export interface ProcessClaims {
  readonly owners: Owners
  readonly strays: StrayRecords
  /** Which other processes hold records, and which of them may have died. */
  readonly readHolders: () => Promise<Seen<Holders>>
}

/**
 * Creates what the claims of a process share. `sharedMs`: how long they share a look at the holders. No look is used beyond
 * the end of a lease that it knows.
 */
export function createProcessClaims(deps: Omit<ClaimsDeps, 'handler'>, sharedMs = 0): ProcessClaims {
  const { db, owner, leaseMs, monotonicMs = () => performance.now() } = deps
  const owners = createOwners({ db, owner, leaseMs, monotonicMs })
  const holders = shareLook({
    look: () => readHolders(deps, owners),
    keepMs: ({ endsInMs }) => Math.min(sharedMs, endsInMs),
    now: monotonicMs,
  })
  return { owners, strays: createStrayRecords(deps), readHolders: holders }
}

/** Creates the claims of one process, for fulfilment or for a handler. */
export function createClaims(deps: ClaimsDeps, shared: ProcessClaims = createProcessClaims(deps)): Claims {
  const { owners, strays } = shared
  const lines = createLines(deps)
  const doubting = async <T>(written: Promise<T>): Promise<T> => {
    try {
      return await written
    } catch (error) {
      strays.doubt()
      throw error
    }
  }
  const take = <Named extends NamedRecord>(records: readonly Named[], claimable: Document): Promise<Taken<Named>> =>
    doubting(takeClaims(deps, records, { claimable }))
  const fill = createFill(deps, lines, (records) => take(records, isDue(deps)))
  const takeOver = async (limit: number): Promise<TakenOver> => {
    if (!owners.mayDecide) return { taken: [], poisoned: 0, againInMs: 0 }
    const { value, ageMs } = await shared.readHolders()
    const { filter, unclaimed, againInMs } = findAbandoned(deps, value, ageMs)
    if (filter === null) return { taken: [], poisoned: 0, againInMs }
    const poisoned = await failPoisonEvents(deps, owners, { filter, limit })
    const claimable = { ...filter, $nor: [mayBePoison(deps)] }
    const oldest = await findOldest(deps, claimable, limit)
    // Only behind the last of the own ones: to find these, the server reads all of them.
    const isTime = unclaimed !== null && oldest.length < limit
    const others = isTime ? await releaseUnclaimed(deps, owners, { filter: unclaimed, limit }) : null
    const { claims: taken } = await take(oldest, claimable)
    const againIn = others?.released === limit ? 0 : againInMs
    return { poisoned: poisoned + (others?.poisoned ?? 0), taken, againInMs: againIn }
  }
  return {
    async claimDue(limit) {
      const claims: Claim[] = []
      try {
        await fill(claims, limit)
      } catch (error) {
        // This process holds the claims from now on, and only the caller can know. The next search reports what fails.
        if (claims.length === 0) throw error
      }
      return claims
    },
    async takeOver(limit) {
      // Neither prevents the other.
      const [swept, over] = await Promise.allSettled([lines.sweep(), takeOver(limit)])
      if (over.status === 'rejected') throw over.reason
      if (swept.status === 'fulfilled') return over.value
      if (over.value.taken.length === 0) throw swept.reason
      deps.onLineFailed?.(swept.reason)
      return over.value
    },
    releaseStrays: (held) => strays.release(held),
    beat: () => owners.beat(),
    leave: () => owners.leave(),
    doubt: () => strays.doubt(),
    begin: (claims, company) =>
      doubting(updateHeld(deps, claims, [{ $set: { begun: company === 'alone' ? true : company } }])),
    async settle(settled) {
      const lost = await doubting(settleHeld(deps, settled))
      // If this fails, the outcomes are stored all the same, and a sweep makes up for it.
      await lines.advance(linesOf(settled)).catch((error: unknown) => deps.onLineFailed?.(error))
      return lost
    },
    async release(claims) {
      const byFailedCalls = Map.groupBy(claims, ({ failedCalls }) => failedCalls)
      for (const [failedCalls, group] of byFailedCalls) await doubting(updateHeld(deps, group, release(failedCalls)))
    },
  }
}

/** The lines in which another task may come next. If one is tried again, an earlier one may have been replayed. */
function linesOf(settled: readonly SettledClaim[]): string[] {
  return settled.flatMap(({ claim: { line } }) => line ?? [])
}

function findOldest({ db }: ClaimsDeps, filter: Document, limit: number): Promise<NamedRecord[]> {
  const options = { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS }
  const found = db.collection<EventDocument>(EVENTS).find(filter, options).project<NamedRecord>({ _id: 1 })
  return found.sort({ _id: 1 }).limit(limit).toArray()
}
