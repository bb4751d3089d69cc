import type { LookupAddress } from 'node:dns'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/with-timeout'
import type { LookupTurn } from './lookup-turns.ts'

/** The error of a name whose addresses are not known in time. */
class LookupTimeoutError extends Error {
  override readonly name = 'LookupTimeoutError'
  readonly code = 'ELOOKUPTIMEOUT'
}

// The system asks a second name server after five seconds.
const PATIENCE_MS = 8_000
const FAILED_MS = 1_000
// Longer than nearly every lookup. It is the wait of a call although the addresses are known.
const SOON_MS = 250
// A lookup of a name that hangs may take a minute, and others wait for it.
const KEPT_MS = 300_000
const SLOW_MS = 1_000

/** The addresses of one name, and the lookup of them that waits or runs. */
export class LookedUpName {
  readonly #lookUp: (turn: LookupTurn) => Promise<LookupAddress[]>
  #lookup: Promise<LookupAddress[]> | null = null
  #askedAt = 0
  /** When the lookup began. Null: it waits for its turn, or has failed. */
  #begunAt: number | null = null
  #wasSlow = false
  #last: { readonly addresses: LookupAddress[]; readonly until: number } | null = null

  constructor(lookUp: (turn: LookupTurn) => Promise<LookupAddress[]>) {
    this.#lookUp = lookUp
  }

  /** @throws LookupTimeoutError, or the error of the lookup */
  find(): Promise<LookupAddress[]> {
    this.#lookup ??= this.#begin()
    const last = this.#last
    return last !== null && performance.now() < last.until
      ? this.#findSoon(this.#lookup, last.addresses)
      : this.#findInTime(this.#lookup)
  }

  #begin(): Promise<LookupAddress[]> {
    this.#askedAt = performance.now()
    const onBegin = (): void => {
      this.#begunAt = performance.now()
    }
    const looked = this.#lookUp({ wasSlow: this.#wasSlow, onBegin })
    looked.then(
      (addresses) => {
        this.#last = { addresses, until: performance.now() + KEPT_MS }
        this.#end()
        this.#lookup = null
      },
      (error: unknown) => {
        if (isUnknown(error)) this.#last = null
        this.#end()
        setTimeout(() => {
          this.#lookup = null
        }, FAILED_MS).unref()
      },
    )
    return looked
  }

  #end(): void {
    this.#wasSlow = this.#runsForMs >= SLOW_MS
    this.#begunAt = null
  }

  get #runsForMs(): number {
    return this.#begunAt === null ? 0 : performance.now() - this.#begunAt
  }

  async #findSoon(lookup: Promise<LookupAddress[]>, last: LookupAddress[]): Promise<LookupAddress[]> {
    const left = this.#askedAt + SOON_MS - performance.now()
    try {
      const found = await withTimeout(lookup, Math.max(0, left))
      return found === TIMED_OUT ? last : found
    } catch (error) {
      if (isUnknown(error)) throw error
      return last
    }
  }

  async #findInTime(lookup: Promise<LookupAddress[]>): Promise<LookupAddress[]> {
    const found = this.#runsForMs >= PATIENCE_MS ? TIMED_OUT : await withTimeout(lookup, PATIENCE_MS)
    if (found === TIMED_OUT) throw new LookupTimeoutError('The name of the host could not be looked up in time')
    return found
  }
}

/** Whether a name server has said that there is no such name. Any other failure says nothing about the addresses. */
function isUnknown(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOTFOUND'
}
