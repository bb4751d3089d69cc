import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'
import type { SettledReceipt } from './claims/receipt-claim.ts'

const PROBE: Backoff = { baseMs: 2_000, capMs: 5_000 }
const LEAST_PROBE_MS = 500
const DRAIN_MS = 60_000
const NONE_FOUND_MS = 1_000
const MOST_NONE_FOUND_MS = 10_000

/**
 * Decides from the results of this process when deferred receipts may be sent early. While the sink fails, one
 * receipt is tried every few seconds. After one success all may be sent, until the sink fails again. A process that
 * has sent nothing yet knows of no outage and also probes. Times are milliseconds of one clock.
 */
export class SinkHealth {
  readonly #random: () => number
  readonly #ownCodes: readonly string[]
  #isFailing = true
  #failures = 0
  #probeAt = 0
  #drainUntil = 0
  #noneFoundMs = NONE_FOUND_MS

  constructor({ random, ownCodes }: { random: () => number; ownCodes: readonly string[] }) {
    this.#random = random
    this.#ownCodes = ownCodes
  }

  /** Whether the last attempts failed. True until the first success. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /** Whether the last attempts failed, of those that there were. */
  get hasFailed(): boolean {
    return this.#failures > 0
  }

  /** How many deferred receipts a batch with this capacity may claim now. Calling this counts as a probe. */
  deferredAllowed(now: number, room: number): number {
    if (!this.#isFailing) return now < this.#drainUntil ? room : 0
    if (now < this.#probeAt || room < 1) return 0
    this.#probeAt = now + Math.max(LEAST_PROBE_MS, backoffMs(PROBE, this.#failures, this.#random))
    return 1
  }

  /** Records that a probe found no deferred receipt. A process that knows of no failure probes ever less often then. */
  foundNone(now: number): void {
    if (!this.#isFailing || this.hasFailed) return
    this.#probeAt = now + this.#noneFoundMs
    this.#noneFoundMs = Math.min(this.#noneFoundMs * 2, MOST_NONE_FOUND_MS)
  }

  /** Records the outcomes of a batch. */
  observe(now: number, settled: readonly SettledReceipt[]): void {
    const sent = settled.filter(({ settlement }) => settlement.state === 'sent')
    if (sent.length > 0) {
      if (this.#isFailing || sent.some(({ claim }) => claim.receipt.attempts > 0)) this.#drainUntil = now + DRAIN_MS
      this.#isFailing = false
      this.#failures = 0
    } else if (settled.some((one) => this.#isFailureOfSink(one))) {
      this.#isFailing = true
      this.#failures += 1
    }
  }

  #isFailureOfSink({ settlement }: SettledReceipt): boolean {
    return settlement.state === 'owed' && !this.#ownCodes.includes(settlement.code)
  }
}
