import type { EventDocument } from '../../event-document.ts'

/** A record that may have killed its holders. */
export type Candidate = Pick<EventDocument, '_id' | 'slot' | 'fence' | 'lost' | 'losses' | 'leaseOwner'>

/** What to do with a candidate: mark it as dead, or set the number of losses that were deaths. */
export type CandidateCheck = 'dead' | { readonly deaths: number }

/**
 * Decides about a record whose holders were lost `maxCrashes` times, the present one included. `beats` says when each
 * process last wrote that it was alive. If an owner did so after its loss, an outage had held it up: that was not a death.
 */
export function checkCandidate(
  { losses = [], lost }: Candidate,
  beats: ReadonlyMap<string, Date>,
  maxCrashes: number,
): CandidateCheck {
  const absolved = losses.filter((loss) => (beats.get(loss.owner)?.getTime() ?? 0) > loss.at.getTime()).length
  const deaths = Math.max(0, lost - absolved)
  return deaths >= maxCrashes - 1 ? 'dead' : { deaths }
}
