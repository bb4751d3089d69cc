import type { EventDocument } from './event-document.ts'

/** A record that may have killed its holders, as it is judged. */
export type Candidate = Pick<EventDocument, '_id' | 'fence' | 'lost' | 'losses' | 'leaseOwner'>

/** What is known of the processes that held a candidate. */
export interface Witnesses {
  /** This process. */
  readonly owner: string
  /** Those that live now. */
  readonly living: ReadonlySet<string>
  /** When each last said that it lived. */
  readonly beats: ReadonlyMap<string, Date>
}

/** What is to be done with a candidate: it is dead; its owner lives and holds it; or so many losses were deaths. */
export type Judgement = 'dead' | 'held' | { readonly deaths: number }

/**
 * Judges a record whose holders were lost `maxStarts` times, the present one included. An owner that said after its loss
 * that it lives was held up by an outage: that was no death.
 */
export function judgeCandidate(candidate: Candidate, witnesses: Witnesses, maxStarts: number): Judgement {
  const { owner, living, beats } = witnesses
  const { leaseOwner = '', losses = [], lost } = candidate
  if (leaseOwner !== owner && living.has(leaseOwner)) return 'held'
  const absolved = losses.filter((loss) => (beats.get(loss.owner)?.getTime() ?? 0) > loss.at.getTime()).length
  const deaths = Math.max(0, lost - absolved)
  return leaseOwner !== owner && deaths >= maxStarts - 1 ? 'dead' : { deaths }
}
