export const MOST_KNOWN_KEYS = 50_000

/**
 * Remembers keys that a majority has acknowledged to this process, so that a storm of duplicates needs no database. It
 * is limited to two generations of `capacity` keys. The older one is dropped when the younger one is full. `quick-lru` uses
 * the same algorithm, but also keeps a value for each key.
 */
export class KnownKeys {
  readonly #capacity: number
  #young = new Set<string>()
  #old = new Set<string>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  has(key: string): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  /** Only for keys whose record a majority holds: inserted, or refused as a duplicate. */
  add(key: string): void {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young
      this.#young = new Set()
    }
    this.#young.add(key)
  }
}
