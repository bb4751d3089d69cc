const MOST_HASHES = 2_000_000
const FIRST_SLOTS = 1_024
const EMPTY = 0

/**
 * Hashes of keys, eight bytes each in a table that is at most half full: at most 32 MiB for 2,000,000 keys. It may have a key that
 * was never added, with the hash of another one, but it never lacks a key that was.
 */
export class KeyHashes {
  #slots = new Float64Array(FIRST_SLOTS)
  #size = 0

  /** Returns false, and adds nothing, if there are too many. */
  add(key: string): boolean {
    const hash = hashOf(key)
    const slot = this.#slotOf(hash)
    if (this.#slots[slot] === hash) return true
    if (this.#size === MOST_HASHES) return false
    this.#slots[slot] = hash
    this.#size += 1
    if (this.#size > this.#slots.length / 2) this.#grow()
    return true
  }

  has(key: string): boolean {
    const hash = hashOf(key)
    return this.#slots[this.#slotOf(hash)] === hash
  }

  /** Where a hash is, or where it belongs. */
  #slotOf(hash: number): number {
    const mask = this.#slots.length - 1
    let slot = hash & mask
    while (this.#slots[slot] !== EMPTY && this.#slots[slot] !== hash) slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const hashes = this.#slots
    this.#slots = new Float64Array(hashes.length * 2)
    for (const hash of hashes) if (hash !== EMPTY) this.#slots[this.#slotOf(hash)] = hash
  }
}

const HIGH_BITS = 0x1f_ffff
const TWO_TO_32 = 0x1_0000_0000

/** A hash of 53 bits, which a number holds exactly. Never 0. */
function hashOf(key: string): number {
  let high = 0x41c6ce57
  let low = 0xdeadbeef
  for (let index = 0; index < key.length; index += 1) {
    const code = key.charCodeAt(index)
    high = Math.imul(high ^ code, 0x5f356495)
    low = Math.imul(low ^ code, 0x9e3779b1)
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  return (high & HIGH_BITS) * TWO_TO_32 + (low >>> 0) || 1
}
