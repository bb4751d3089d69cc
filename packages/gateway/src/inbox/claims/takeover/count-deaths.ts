import type { EventDocument } from '../../event-document.ts'

/** A record that may have killed its holders. */
export type Candidate = Pick<EventDocument, '_id' | 'fence' | 'lost' | 'losses' | 'leaseOwner'>

type Loss = NonNullable<Candidate['losses']>[number]

/** What to do with a candidate: mark it as dead, or set the number of losses that were deaths. */
export type CandidateCheck = 'dead' | { readonly deaths: number }

/**
 * Decides about a record whose holders were lost `maxCrashes` times, the present one included. `beats` says when each
 * process last wrote that it was alive. If an owner did so after its loss, an outage had held it up: that was not a death.
 */
export function checkCandidate(
  candidate: Candidate,
  beats: ReadonlyMap<string, Date>,
  maxCrashes: number,
): CandidateCheck {
  const beatAfter = ({ owner, at }: Loss): boolean => (beats.get(owner)?.getTime() ?? 0) > at.getTime()
  const absolved = lossesOf(candidate).filter(beatAfter).length
  const deaths = Math.max(0, candidate.lost - absolved)
  return deaths >= maxCrashes - 1 ? 'dead' : { deaths }
}

/** The losses of a candidate. None if something other than Oncehook has changed them. */
export function lossesOf({ losses }: Candidate): readonly Loss[] {
  return Array.isArray(losses) ? losses : []
}
