import type { Document } from 'mongodb'
import { type DueRecord, isOver, SEARCH_MS } from '../due.ts'
import { BY_DUE, DUE_INDEX, EVENTS } from '../task.ts'
import { lossesThen } from '../transitions.ts'
import type { ClaimOptions } from './claim.ts'

/*
 * Suspects: tasks whose claim has ended because their process died, or whose call broke. One of them may be the cause. Each
 * time this happens to a task in a row, it loses once more, and is tried with fewer others: the first time beside all, the second
 * time in a group, then alone, and after `maxCrashes` losses it is dead. Any verdict clears it. So a task that kills processes
 * costs its neighbours two losses, and an outage, a restart or a frozen process harms nobody.
 */

/** A suspect, with the losses that it has if it is claimed now. */
export interface Suspect extends DueRecord {
  /** Present if nobody gave its claim back. */
  readonly claim?: string
}

const MOST_LOOKED_AT = 100
// Enough that what a process held is through soon, few enough that few others are affected by the one that caused its death.
const GROUP = 25

export function findSuspects(options: ClaimOptions, verdictAt: Date | null): Promise<Suspect[]> {
  return options.db
    .collection(EVENTS)
    .find(isOver(options), { hint: DUE_INDEX, sort: BY_DUE, limit: MOST_LOOKED_AT, maxTimeMS: SEARCH_MS })
    .project<Suspect>({ _id: 1, provider: 1, line: 1, claim: 1, lost: lossesThen(verdictAt) })
    .toArray()
}

export function isPoison(
  options: Pick<ClaimOptions, 'handler' | 'maxCrashes' | 'maxDelayMs' | 'lastsMs'>,
  verdictAt: Date | null,
): Document {
  return { $and: [isOver(options), { $expr: { $gte: [lossesThen(verdictAt), options.maxCrashes] } }] }
}

/**
 * The suspects that are tried next: a group of those that lost once at most, or the one with the fewest losses alone. So is one that
 * would be dead after the next loss.
 */
export function chooseSuspects(suspects: readonly Suspect[], maxCrashes: number): readonly Suspect[] {
  const most = Math.min(1, maxCrashes - 2)
  const [first, ...others] = suspects.toSorted((one, other) => one.lost - other.lost)
  if (first === undefined) return []
  return first.lost > most ? [first] : [first, ...others.filter(({ lost }) => lost <= most)].slice(0, GROUP)
}
