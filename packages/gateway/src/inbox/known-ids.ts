/**
 * Remembers keys that this process has seen acknowledged by a majority, so that a storm of duplicates needs no
 * database. Bounded: two generations of `capacity` keys; the older one is dropped when the younger is full.
 */
export class KnownIds {
  readonly #capacity: number
  #young = new Set<string>()
  #old = new Set<string>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  has(key: string): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  /** Only for keys whose record is majority-durable: inserted, or refused as a duplicate, under majority write concern. */
  add(key: string): void {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young
      this.#young = new Set()
    }
    this.#young.add(key)
  }
}
