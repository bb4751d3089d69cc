import type { Claim } from '../inbox/claims.ts'

/**
 * How a claim travels: new ones of this process and those from the database in batches; those that were beside a failure
 * in small groups; a suspect by itself; and what may kill this process with nothing else under way.
 */
export type Way = 'new' | 'due' | 'few' | 'alone' | 'exclusive'

/** Claims that are sent together. */
export interface Batch {
  readonly way: Way
  readonly claims: readonly Claim[]
}

/** What is under way, and how much may be. */
export interface Room {
  /** Most claims in a batch. */
  readonly limit: number
  /** Most batches of new and due claims under way. */
  readonly lanes: number
  readonly underWay: readonly Way[]
}

// Enough that thousands of orphans of one death are no long wait, few enough that little goes down with what killed it.
const FEW = 25
const WAYS: readonly Way[] = ['new', 'due', 'few', 'alone', 'exclusive']

/** Claims that wait in memory, in order of their coming for each way. The ways take turns, so none waits for another. */
export class WaitingClaims {
  readonly #maxStarts: number
  readonly #lists: Readonly<Record<Way, Claim[]>> = { new: [], due: [], few: [], alone: [], exclusive: [] }
  #turn = 0

  constructor(maxStarts: number) {
    this.#maxStarts = maxStarts
  }

  /** Adds a claim and answers how it will travel; `isNew` says that this process made it with the insert. */
  add(claim: Claim, isNew: boolean): Way {
    const way = this.#wayOf(claim, isNew)
    this.#lists[way].push(claim)
    return way
  }

  /** How many new claims wait. */
  get newOnes(): number {
    return this.#lists.new.length
  }

  /** Takes out the next batch, or null where nothing may travel now. */
  next(room: Room): Batch | null {
    for (let step = 0; step < WAYS.length; step += 1) {
      const turn = (this.#turn + step) % WAYS.length
      const way = WAYS[turn] as Way
      if (this.#lists[way].length === 0) continue
      if (!isFree(way, room)) {
        // It waits until all others have ended, and none is sent ahead of it meanwhile.
        if (way === 'exclusive') return null
        continue
      }
      this.#turn = (turn + 1) % WAYS.length
      return { way, claims: this.#lists[way].splice(0, Math.max(1, sizeOf(way, room.limit))) }
    }
    return null
  }

  /** Takes out one claim as a probe of fulfilment: a suspect only where there is no other. */
  nextProbe(): Batch | null {
    const way = WAYS.find((one) => this.#lists[one].length > 0)
    return way === undefined ? null : { way, claims: this.#lists[way].splice(0, 1) }
  }

  /** Takes out everything. */
  drain(): Claim[] {
    return WAYS.flatMap((way) => this.#lists[way].splice(0))
  }

  /**
   * The first loss or failure also meets those that only were beside the cause. From the second one on a claim is a
   * suspect. Where two losses are the limit, there is no room for a group in between.
   */
  #wayOf({ lost, failedCalls }: Claim, isNew: boolean): Way {
    const groups = this.#maxStarts > 2 ? 1 : 0
    if (lost > groups) return 'exclusive'
    if (failedCalls > groups) return 'alone'
    if (lost > 0 || failedCalls > 0) return 'few'
    return isNew ? 'new' : 'due'
  }
}

function isFree(way: Way, { lanes, underWay }: Room): boolean {
  if (underWay.includes('exclusive')) return false
  const cautious = underWay.filter((one) => one === 'few' || one === 'alone').length
  if (way === 'exclusive') return underWay.length === 0
  // One more beside the others: a call that hangs may not take the place of those that have done nothing.
  if (way === 'few' || way === 'alone') return cautious === 0
  return underWay.length - cautious < lanes
}

function sizeOf(way: Way, limit: number): number {
  if (way === 'alone' || way === 'exclusive') return 1
  return way === 'few' ? Math.min(limit, FEW) : limit
}
