import { fromNow } from '@oncehook/kernel/mongo/lease'
import type { Document } from 'mongodb'
import { EVENTS, type EventDocument, PROCESSING_INDEX } from '../event-document.ts'
import { release } from '../transitions.ts'
import type { Claim, SettledClaim } from './claim.ts'
import type { ClaimsDeps } from './claims-deps.ts'
import { failPoisonEvents, mayBePoison } from './fail-poison-events.ts'
import { findDue, isDue, SEARCH_MS } from './find-due.ts'
import { settleHeld, updateHeld } from './held-claims.ts'
import { leaseHasEnded } from './lease.ts'
import { createOwners, type Owners } from './owners.ts'
import { postponePaused } from './postpone-paused.ts'
import { takeClaims } from './take-claims.ts'

/** Claims, keeps and releases records. All times come from the database's clock, and every write is fenced. */
export interface Claims {
  /**
   * Claims up to `limit` due records, the longest due first. New records and retries share the places. Records of
   * paused providers are not claimed, but left out of later searches until their provider is resumed.
   */
  claimDue(limit: number): Promise<Claim[]>
  /**
   * Claims up to `limit` records whose lease has expired. Marks records as dead that seem to crash their holders.
   * Records that this process still holds are kept: their leases are extended. A loss counts only if its owner is not
   * alive.
   */
  reclaimExpired(limit: number, held?: Iterable<Claim>): Promise<{ readonly taken: Claim[]; readonly poisoned: number }>
  /**
   * Writes that an attempt of these claims begins. They have lost a holder before. If this process dies, its death
   * counts towards marking a record as dead only if the record was attempted `alone`, with nothing else in progress.
   * With `together`, the death makes each of them a suspect.
   */
  begin(claims: readonly Claim[], company: 'alone' | 'together'): Promise<void>
  /** Writes that this process is alive. Call it three times during a lease. */
  beat(): Promise<void>
  /** Extends the leases of claims that are still held. */
  renew(claims: readonly Claim[]): Promise<void>
  /**
   * Writes outcomes in bulk. It is safe to repeat after a failure. Resolves to those whose claim was lost in the
   * meantime: their outcomes are dropped.
   */
  settle(settled: readonly SettledClaim[]): Promise<readonly SettledClaim[]>
  /** Releases claims without an attempt. They are due at once, and nothing counts for or against them. */
  release(claims: readonly Claim[]): Promise<void>
}

const MAX_TRIES = 5
// Enough that a long list of a provider that was just paused does not hold up the others for more than seconds.
const MAX_POSTPONED = 40

/** Creates the claims of one process. */
export function createClaims(deps: ClaimsDeps): Claims {
  const { db, owner, leaseMs, monotonicMs = () => performance.now() } = deps
  const owners = createOwners({ db, owner, leaseMs, monotonicMs })
  const renew = (claims: readonly Claim[]) => updateHeld(deps, claims, [{ $set: { leaseUntil: fromNow(leaseMs) } }])
  let favoursTimed = false
  return {
    async claimDue(limit) {
      const claims: Claim[] = []
      favoursTimed = !favoursTimed
      // Another process may have taken the records found here. Then search again, or one process would starve the
      // other.
      for (let tries = 0, postponed = 0; tries < MAX_TRIES && claims.length < limit && postponed < MAX_POSTPONED; ) {
        const wanted = limit - claims.length
        const found = await findDue(deps, { limit: wanted, timed: (wanted + Number(favoursTimed)) >> 1 })
        const due = found.filter(({ provider }) => !deps.paused().has(provider))
        const ids = due.map(({ _id }) => _id)
        claims.push(...(await takeClaims(deps, ids, { claimable: isDue(deps) })))
        if (due.length < found.length) {
          await postponePaused(deps)
          postponed += 1
        } else if (ids.length < wanted) break
        else tries += 1
      }
      return claims
    },
    async reclaimExpired(limit, held = []) {
      const poisoned = await failPoisonEvents(deps, owners)
      const filter = { state: 'processing', $nor: [mayBePoison(deps)], $expr: leaseHasEnded(leaseMs) }
      const found = await findExpired(deps, filter, limit)
      const own = new Set(found.filter(({ leaseOwner }) => leaseOwner === owner).map(({ _id }) => String(_id)))
      const kept = own.size === 0 ? [] : [...held].filter(({ _id }) => own.has(String(_id)))
      await renew(kept)
      const keptIds = new Set(kept.map(({ _id }) => String(_id)))
      const free = found.filter(({ _id }) => !keptIds.has(String(_id)))
      const living = await livingOwners(owners, free)
      const ids = free.map(({ _id }) => _id)
      return { poisoned, taken: await takeClaims(deps, ids, { claimable: filter, living }) }
    },
    beat: () => owners.beat(),
    begin: (claims, company) => updateHeld(deps, claims, [{ $set: { begun: company === 'alone' ? true : company } }]),
    renew,
    settle: (settled) => settleHeld(deps, settled),
    async release(claims) {
      const byFailedCalls = Map.groupBy(claims, ({ failedCalls }) => failedCalls)
      for (const [failedCalls, group] of byFailedCalls) await updateHeld(deps, group, release(failedCalls))
    },
  }
}

type Expired = Pick<EventDocument, '_id' | 'leaseOwner'>

function findExpired({ db }: ClaimsDeps, filter: Document, limit: number): Promise<Expired[]> {
  const options = { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS }
  const found = db.collection<EventDocument>(EVENTS).find(filter, options).project<Expired>({ leaseOwner: 1 })
  return found.sort({ state: 1, _id: 1 }).limit(limit).toArray()
}

function livingOwners(owners: Owners, records: readonly Expired[]): Promise<ReadonlySet<string>> {
  return owners.findLiving(records.map(({ leaseOwner = '' }) => leaseOwner))
}
