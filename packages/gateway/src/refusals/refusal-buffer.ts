import type { Refusal } from './refusal-document.ts'

/** The refusals of one kind at one provider. */
export interface RefusalRing {
  readonly provider: string
  readonly ring: string
}

/** The refusals of a ring since the last write. */
export interface RingContents extends RefusalRing {
  readonly kept: readonly Refusal[]
  /** The number of deliveries without a record. */
  readonly notKept: number
}

interface Filling extends RefusalRing {
  kept: Refusal[]
  notKept: number
  /** How many records it may take now. */
  allowance: number
  countedAt: number
  /** The networks of its last records. */
  networks: (string | null)[]
}

const MOST_AT_ONCE = 20
const PER_SECOND = 0.5
// The part that one network leaves to others.
const FOR_OTHERS = 5
const MOST_NETWORKS = 8
const MOST_KEPT = 2_000

/**
 * Holds records of refused deliveries until they are written. Each ring accepts 20 records at once and then one every
 * two seconds, so a flood costs little and its records do not replace each other within seconds. One network never
 * takes the last five of a ring. All rings together hold about 2,000 records; beyond that, a ring accepts a record only
 * if it has none.
 */
export class RefusalBuffer {
  #rings = new Map<string, Map<string, Filling>>()
  #kept = 0

  /**
   * Adds what `describe` returns if the ring takes one more; otherwise counts the delivery. Returns whether it is kept. `now`
   * is in milliseconds.
   */
  add(ring: RefusalRing, { network, now }: { network: string | null; now: number }, describe: () => Refusal): boolean {
    const filling = this.#fillingOf(ring, now)
    refill(filling, now)
    const { allowance, networks, kept } = filling
    const isEager = allowance < FOR_OTHERS + 1 && networks.includes(network)
    const isFull = kept.length >= MOST_AT_ONCE || (this.#kept >= MOST_KEPT && kept.length > 0)
    if (allowance < 1 || isEager || isFull) {
      filling.notKept += 1
      return false
    }
    filling.allowance -= 1
    networks.push(network)
    if (networks.length > MOST_NETWORKS) networks.shift()
    kept.push(describe())
    this.#kept += 1
    return true
  }

  /** Takes everything there is, and forgets rings that were idle for long. */
  take(now: number): RingContents[] {
    const taken: RingContents[] = []
    this.#kept = 0
    for (const [provider, rings] of this.#rings) {
      for (const [name, filling] of rings) {
        const { kept, notKept } = filling
        if (kept.length > 0 || notKept > 0) taken.push({ provider, ring: name, kept, notKept })
        filling.kept = []
        filling.notKept = 0
        refill(filling, now)
        if (filling.allowance >= MOST_AT_ONCE) rings.delete(name)
      }
      if (rings.size === 0) this.#rings.delete(provider)
    }
    return taken
  }

  #fillingOf(ring: RefusalRing, now: number): Filling {
    const rings = this.#rings.get(ring.provider)
    const present = rings?.get(ring.ring)
    if (present !== undefined) return present
    const filling = { ...ring, kept: [], notKept: 0, allowance: MOST_AT_ONCE, countedAt: now, networks: [] }
    if (rings === undefined) this.#rings.set(ring.provider, new Map([[ring.ring, filling]]))
    else rings.set(ring.ring, filling)
    return filling
  }
}

/** If the clock was set back, nothing is added or removed. */
function refill(filling: Filling, now: number): void {
  const seconds = Math.max(0, now - filling.countedAt) / 1_000
  filling.allowance = Math.min(MOST_AT_ONCE, filling.allowance + seconds * PER_SECOND)
  filling.countedAt = now
}
