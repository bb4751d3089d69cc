import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { EVENTS } from '../event-document.ts'
import type { Lines } from '../lines/lines.ts'
import { postpone } from '../transitions.ts'
import type { Claim } from './claim.ts'
import type { ClaimsDeps } from './claims-deps.ts'
import { type DueRecord, findDue } from './find-due.ts'
import { BY_ID, type Taken, withIds } from './take-claims.ts'

/** Claims those of the records that are still due. */
type Take = (records: readonly DueRecord[]) => Promise<Taken<DueRecord>>

const MAX_TRIES = 5
// Enough that a long list of a provider that was just paused, or a long line, does not hold up the others for more than
// seconds.
const MAX_ASIDE = 40
const POSTPONED_AT_ONCE = 500

/**
 * Creates the rounds of claims of one process. A round adds due records to a list until it has as many as wanted. Those that
 * must wait for their provider or for an earlier task are set aside: later searches skip them.
 */
export function createFill(
  deps: ClaimsDeps,
  lines: Pick<Lines, 'admit' | 'letWait'>,
  take: Take,
): (claims: Claim[], limit: number) => Promise<void> {
  const addFound = async (claims: Claim[], wanted: number): Promise<'set aside' | 'in line' | 'last' | 'more'> => {
    const found = await findDue(deps, wanted)
    const due = found.filter(({ provider }) => !deps.paused().has(provider))
    // Those in no line do not wait for a look at the lines.
    const free = await take(due.filter(({ line }) => line === undefined))
    claims.push(...free.claims)
    const { claimable, waiting } = await lines.admit(due.filter(({ line }) => line !== undefined))
    const lined = await take(claimable)
    claims.push(...lined.claims)
    await lines.letWait(lined.refused)
    if (due.length < found.length) await postponePaused(deps, found)
    if (due.length < found.length) return 'set aside'
    if (waiting + lined.refused.length > 0) return 'in line'
    return due.length < wanted ? 'last' : 'more'
  }
  return async (claims, limit) => {
    // Another process may have taken the records found here. Then search again, or one process would starve the other.
    for (let tries = 0, aside = 0; tries < MAX_TRIES && claims.length < limit && aside < MAX_ASIDE; ) {
      const outcome = await addFound(claims, limit - claims.length)
      // A search further along the lines would hold up these claims. Their end starts the next search.
      if (outcome === 'last' || (outcome === 'in line' && claims.some(isInLine))) return
      if (outcome === 'more') tries += 1
      else aside += 1
    }
  }
}

function isInLine({ line }: Claim): boolean {
  return line !== undefined
}

/**
 * Gives due records of paused providers the due time of their provider's pause. Then no later search reads them, however
 * many they are. Searches for more than a caller may claim, because only probes are claimed during an outage. `seen`: what
 * the caller has found. It may be far from the beginning, where this search looks.
 */
async function postponePaused(deps: ClaimsDeps, seen: readonly DueRecord[]): Promise<void> {
  const found = await findDue(deps, POSTPONED_AT_ONCE)
  const byProvider = Map.groupBy([...seen, ...found], ({ provider }) => provider)
  const paused = deps.paused()
  const updates = [...byProvider].flatMap(([provider, records]) => {
    const dueAt = paused.get(provider)
    if (dueAt === undefined) return []
    const q = { ...withIds(records), state: 'pending', handler: deps.handler }
    return [{ q, u: postpone(dueAt), multi: true, hint: BY_ID }]
  })
  await bulkUpdate(deps.db, { update: EVENTS, updates })
}
