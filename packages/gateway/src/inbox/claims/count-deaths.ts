import type { EventDocument } from '../event-document.ts'

/** A record that may have killed its holders. */
export type Candidate = Pick<EventDocument, '_id' | 'fence' | 'lost' | 'losses' | 'leaseOwner'>

/** What is known about the processes that held a candidate. */
export interface Witnesses {
  /** This process. */
  readonly owner: string
  /** Processes that are alive now. */
  readonly living: ReadonlySet<string>
  /** When each process last wrote that it was alive. */
  readonly beats: ReadonlyMap<string, Date>
}

/**
 * What to do with a candidate: mark it as dead, leave it to an owner that is alive, or set the number of losses that
 * were deaths.
 */
export type CandidateCheck = 'dead' | 'held' | { readonly deaths: number }

/**
 * Decides about a record whose holders were lost `maxStarts` times, the present one included. If an owner wrote after
 * its loss that it was alive, an outage had held it up: that was not a death.
 */
export function checkCandidate(candidate: Candidate, witnesses: Witnesses, maxCrashes: number): CandidateCheck {
  const { owner, living, beats } = witnesses
  const { leaseOwner = '', losses = [], lost } = candidate
  if (leaseOwner !== owner && living.has(leaseOwner)) return 'held'
  const absolved = losses.filter((loss) => (beats.get(loss.owner)?.getTime() ?? 0) > loss.at.getTime()).length
  const deaths = Math.max(0, lost - absolved)
  return leaseOwner !== owner && deaths >= maxCrashes - 1 ? 'dead' : { deaths }
}
