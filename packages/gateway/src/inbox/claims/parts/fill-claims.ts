import type { Lines } from '../../lines/lines.ts'
import type { Claim } from '../claim.ts'
import type { ClaimsDeps } from '../claims-deps.ts'
import type { DueRecord, SearchDeps } from '../find-due.ts'
import { postponePaused } from '../postpone-paused.ts'
import type { Taken } from '../take-claims.ts'
import type { SharedSearch } from './shared-search.ts'

/** What a round of claims needs. */
interface FillDeps {
  readonly deps: ClaimsDeps & SearchDeps
  readonly search: SharedSearch
  readonly lines: Pick<Lines, 'admit' | 'letWait'>
  /** Claims those of the records that are still due. */
  readonly take: (records: readonly DueRecord[]) => Promise<Taken<DueRecord>>
}

const MAX_TRIES = 5
// Enough that a long list of a provider that was just paused, or a long line, does not hold up the others for more than
// seconds.
const MAX_ASIDE = 40

/**
 * Creates the rounds of claims of one process. A round adds due records to a list until it has as many as wanted. Those that
 * must wait for their provider or for an earlier task are set aside: later searches skip them.
 */
export function createFill({ deps, search, lines, take }: FillDeps): (claims: Claim[], limit: number) => Promise<void> {
  let favoursTimed = false
  const addFound = async (claims: Claim[], wanted: number): Promise<'set aside' | 'in line' | 'last' | 'more'> => {
    const found = await search.find(wanted, (wanted + Number(favoursTimed)) >> 1)
    const due = found.filter(({ provider }) => !deps.paused().has(provider))
    let missed = 0
    const takeThese = async (records: readonly DueRecord[]): Promise<readonly DueRecord[]> => {
      const { claims: taken, refused } = await take(records)
      claims.push(...taken)
      missed += records.length - taken.length - refused.length
      return refused
    }
    // Those in no line do not wait for a look at the lines.
    await takeThese(due.filter(({ line }) => line === undefined))
    const { claimable, waiting } = await lines.admit(due.filter(({ line }) => line !== undefined))
    const refused = await takeThese(claimable)
    search.report(missed)
    await lines.letWait(refused)
    if (due.length < found.length) await postponePaused(deps, found)
    if (due.length < found.length) return 'set aside'
    if (waiting + refused.length > 0) return 'in line'
    return due.length < wanted && search.wasWhole ? 'last' : 'more'
  }
  return async (claims, limit) => {
    favoursTimed = !favoursTimed
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
