import type { Claim } from '../inbox/claims/claim.ts'

/**
 * How a claim is sent. `new` (from this process) and `due` (from the database): in batches. `few`: in small groups,
 * because it was near a failure. `alone`: one at a time, because it is a suspect. `exclusive`: with nothing else in
 * progress, because it may kill this process.
 */
export type Way = 'new' | 'due' | 'few' | 'alone' | 'exclusive'

/**
 * What the other dispatchers of a process have in progress. `exclusive`: a batch beside which nothing may run, or one of
 * them waits to send one.
 */
export type Others = 'nothing' | 'batches' | 'exclusive'

/** Claims that are sent together. */
export interface Batch {
  readonly way: Way
  readonly claims: readonly Claim[]
}

/** What is in progress, and how much may be. */
export interface Room {
  /** The maximum number of claims in a batch. */
  readonly limit: number
  /** The maximum number of batches of new and due claims in progress. */
  readonly lanes: number
  readonly underWay: readonly Way[]
  /** What other dispatchers of the process have in progress. Default: nothing. */
  readonly others?: Others
  /** Called if the next batch is exclusive and has to wait. */
  readonly onWait?: () => void
}

// Enough that thousands of events left by one death do not wait long, few enough that few others are affected by the
// event that caused it.
const FEW = 25
const WAYS: readonly Way[] = ['new', 'due', 'few', 'alone', 'exclusive']

/** Claims that wait in memory, in order of arrival for each way. The ways take turns, so none waits for another. */
export class WaitingClaims {
  readonly #maxStarts: number
  readonly #lists: Readonly<Record<Way, Claim[]>> = { new: [], due: [], few: [], alone: [], exclusive: [] }
  #turn = 0

  constructor(maxCrashes: number) {
    this.#maxStarts = maxCrashes
  }

  /** Adds a claim and returns how it will be sent. `isNew` means that this process made it on insert. */
  add(claim: Claim, isNew: boolean): Way {
    const way = this.#wayOf(claim, isNew)
    this.#lists[way].push(claim)
    return way
  }

  /** The number of new claims that wait. */
  get newOnes(): number {
    return this.#lists.new.length
  }

  /** Removes and returns the next batch. Returns null if nothing may be sent now. */
  next(room: Room): Batch | null {
    for (let step = 0; step < WAYS.length; step += 1) {
      const turn = (this.#turn + step) % WAYS.length
      const way = WAYS[turn] as Way
      if (this.#lists[way].length === 0) continue
      if (!isFree(way, room)) {
        // It waits until all other batches have ended, and none is sent ahead of it in the meantime.
        if (way === 'exclusive') {
          room.onWait?.()
          return null
        }
        continue
      }
      this.#turn = (turn + 1) % WAYS.length
      return { way, claims: this.#lists[way].splice(0, Math.max(1, sizeOf(way, room.limit))) }
    }
    return null
  }

  /** Removes and returns one claim as a probe of fulfilment. It is a suspect only if there is no other. */
  nextProbe({ others, onWait }: Pick<Room, 'others' | 'onWait'> = {}): Batch | null {
    const way = WAYS.find((one) => this.#lists[one].length > 0)
    if (way === 'exclusive' && others === 'batches') {
      onWait?.()
      return null
    }
    return way === undefined ? null : { way, claims: this.#lists[way].splice(0, 1) }
  }

  /** Removes and returns everything. */
  drain(): Claim[] {
    return WAYS.flatMap((way) => this.#lists[way].splice(0))
  }

  /**
   * The first loss or failure also affects claims that were only near the cause. From the second one on, a claim is a
   * suspect. If two losses are the limit, there is no room for a group in between.
   */
  #wayOf({ lost, failedCalls }: Claim, isNew: boolean): Way {
    const groups = this.#maxStarts > 2 ? 1 : 0
    if (lost > groups) return 'exclusive'
    if (failedCalls > groups) return 'alone'
    if (lost > 0 || failedCalls > 0) return 'few'
    return isNew ? 'new' : 'due'
  }
}

function isFree(way: Way, { lanes, underWay, others = 'nothing' }: Room): boolean {
  if (underWay.includes('exclusive')) return false
  const cautious = underWay.filter((one) => one === 'few' || one === 'alone').length
  if (way === 'exclusive') return underWay.length === 0 && others === 'nothing'
  // One more in addition to the others: a call that hangs must not take the place of events that have done nothing.
  if (way === 'few' || way === 'alone') return cautious === 0
  return underWay.length - cautious < lanes
}

function sizeOf(way: Way, limit: number): number {
  if (way === 'alone' || way === 'exclusive') return 1
  return way === 'few' ? Math.min(limit, FEW) : limit
}
