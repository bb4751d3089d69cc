import type { IncomingMessage } from 'node:http'
import { overloaded } from '../errors.ts'

// What a body costs beside its bytes: the request, its headers, the record.
const OVERHEAD_BYTES = 4_096
// A body of unknown length begins with this much; most are far smaller than the limit.
const UNANNOUNCED_BYTES = 65_536

/** Memory that bodies may take together, from their first byte until their answer. */
export class BodyBudget {
  readonly #capacity: number
  #used = 0

  /** `capacity` in bytes. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /**
   * Sets aside what a request says it brings, and returns what gives it back. One body always fits.
   * @throws overloaded
   */
  reserve({ headers }: IncomingMessage): () => void {
    const bytes = Number(headers['content-length'] ?? UNANNOUNCED_BYTES) + OVERHEAD_BYTES
    if (this.#used > 0 && this.#used + bytes > this.#capacity) {
      throw overloaded({}, { headers: { 'Retry-After': '1', Connection: 'close' } })
    }
    this.#used += bytes
    return () => {
      this.#used -= bytes
    }
  }
}
