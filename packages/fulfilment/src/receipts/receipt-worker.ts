import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@oncehook/kernel/log/logger'
import { NewReceipts, type ReceiptOutbox, type Reservation, type TimedClaim } from './claims/new-receipts.ts'
import type { ReceiptClaim, SettledReceipt, Settlement } from './claims/receipt-claim.ts'
import type { ReceiptClaims } from './claims/receipt-claims.ts'
import { isOfSink, type SendDeps, sendClaimed } from './send-claimed.ts'

export interface ReceiptWorkerDeps extends SendDeps {
  readonly claims: ReceiptClaims
  readonly logger: Logger
  /** Milliseconds that a claim lasts. No attempt starts that could outlast it. */
  readonly leaseMs: number
  readonly onSettled: (state: Settlement['state']) => void
}

const BATCH = 200
const POLL_MS = 500
// Well below the five seconds for which the time of the database is known. A worker that does not know it reserves no room.
const POLL_IDLE_MS = 2_500
const PROBE_MS = 1_000
const SETTLE_TRIES = 5
const SETTLE_AGAIN_MS = 500

/**
 * Sends owed receipts: claims due receipts, marks them `sending`, sends them and writes the outcomes. Several workers
 * may run in parallel. Polls every half second, more rarely while nothing is due, and at once after a nudge. While the sink
 * accepts receipts, most of them are new: the write that created them also claimed them for this worker, so they need no
 * search and no claim. While the sink fails, a few due receipts are tried once a second; the first success ends that.
 */
export class ReceiptWorker implements ReceiptOutbox {
  readonly #deps: ReceiptWorkerDeps
  readonly #new: NewReceipts
  readonly #stopped = new AbortController()
  #troubled = false
  /** By the last attempts. */
  #sink: 'untried' | 'works' | 'fails' = 'untried'
  /** When to look for due receipts, in milliseconds of `performance.now()`. */
  #lookAt = 0
  /** The wait before the next look. It doubles while nothing is due. */
  #pollMs = POLL_MS
  #wake: PromiseWithResolvers<void> = Promise.withResolvers()
  #running: Promise<void> | undefined

  constructor(deps: ReceiptWorkerDeps) {
    this.#deps = deps
    this.#new = new NewReceipts({
      databaseClock: deps.claims.databaseClock,
      leaseMs: deps.leaseMs,
      beginWithinMs: this.#beginWithinMs,
      keyIds: () => deps.encryption.keyIds,
      onArrived: () => this.#wake.resolve(),
    })
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Notifies the worker that a receipt may be owed. While the sink fails, there are enough. */
  nudge(): void {
    if (this.#sink !== 'fails') this.#lookAt = 0
    this.#wake.resolve()
  }

  /**
   * Reserves room for new receipts. Null if a new receipt would not be sent soon. Null also for a sink without keys:
   * after a crash, its receipts would look like attempts with an unknown outcome.
   */
  reserve(most: number): Reservation | null {
    const isFit = this.#deps.sink.keyed && this.#sink === 'works' && !this.#troubled && !this.#stopping
    return isFit ? this.#new.reserve(most) : null
  }

  /** Stops claiming receipts and starting attempts. Does not wait. */
  beginStop(): void {
    this.#stopped.abort()
    this.#wake.resolve()
  }

  /** Starts no more attempts, waits for the running ones and writes their outcomes. Puts back what it holds. */
  async stop(): Promise<void> {
    this.beginStop()
    await this.#running
    await this.#runBatch()
  }

  get #stopping(): boolean {
    return this.#stopped.signal.aborted
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      await this.#runBatch()
      if (!this.#stopping) await this.#pause()
    }
  }

  async #pause(): Promise<void> {
    const waitMs = this.#lookAt - performance.now()
    if (waitMs <= 0) return
    const timer = new AbortController()
    await Promise.race([this.#wake.promise, sleep(waitMs, undefined, { signal: timer.signal }).catch(() => undefined)])
    timer.abort()
    this.#wake = Promise.withResolvers()
  }

  /**
   * A claimed mail that was never attempted looks like one with an unknown outcome, so without keys no receipt is
   * claimed ahead of time.
   */
  #batchSize(): number {
    const { keyed, atOnce } = this.#deps.sink
    return keyed && this.#sink !== 'fails' ? BATCH : atOnce
  }

  /** A series of database errors is logged once, and retried. */
  async #runBatch(): Promise<void> {
    try {
      await this.#putBackUnconfirmed()
      const found = await this.#find()
      const batch = [...this.#new.takeHeld(), ...found]
      if (batch.length > 0) await this.#sendAndSettle(batch)
      this.#troubled = false
    } catch (error) {
      if (!this.#troubled) this.#deps.logger.warn({ error }, 'receipt.worker-troubled')
      this.#troubled = true
    }
  }

  async #putBackUnconfirmed(): Promise<void> {
    const unconfirmed = this.#new.takeUnconfirmed()
    if (unconfirmed.length === 0) return
    await this.#deps.claims.putBack(unconfirmed)
    this.#lookAt = 0
  }

  /** Claims due receipts if it is time to look for them, and again at once after a full batch. */
  async #find(): Promise<TimedClaim[]> {
    const now = performance.now()
    // After trouble, nothing is sent before the database answers again.
    if (this.#stopping || (now < this.#lookAt && !this.#troubled)) return []
    this.#lookIn(this.#pollMs)
    const limit = this.#batchSize()
    const claimed = await this.#deps.claims.claim(limit, this.#stopped.signal)
    this.#pollMs = claimed.length === 0 ? Math.min(this.#pollMs * 2, POLL_IDLE_MS) : POLL_MS
    if (claimed.length >= limit) this.#lookAt = 0
    return claimed.map((claim) => ({ claim, beginBy: now + this.#beginWithinMs }))
  }

  #lookIn(ms: number): void {
    this.#lookAt = performance.now() + ms * (0.5 + this.#deps.random())
  }

  get #beginWithinMs(): number {
    const { leaseMs, sendTimeoutMs } = this.#deps
    return leaseMs - sendTimeoutMs * 2
  }

  async #sendAndSettle(batch: readonly TimedClaim[]): Promise<void> {
    const settled: SettledReceipt[] = []
    const queue = batch.values()
    const runner = async (): Promise<void> => {
      for (const { claim, beginBy } of queue) {
        const inTime = !this.#stopping && performance.now() < beginBy
        settled.push({ claim, settlement: await sendClaimed(this.#deps, claim, inTime) })
      }
    }
    await Promise.all(Array.from({ length: this.#deps.sink.atOnce }, runner))
    this.#observe(settled)
    await this.#settle(settled)
    for (const { claim, settlement } of settled) this.#report(claim, settlement)
  }

  #observe(settled: readonly SettledReceipt[]): void {
    if (settled.some(({ settlement }) => settlement.state === 'sent')) this.#sink = 'works'
    else if (settled.some(({ settlement }) => isOfSink(this.#deps.sink, settlement))) {
      this.#sink = 'fails'
      this.#lookIn(PROBE_MS)
    }
  }

  /** Retries the write for a while: an election must not cause a second send. */
  async #settle(settled: readonly SettledReceipt[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#deps.claims.settle(settled)
      } catch (error) {
        if (tries >= SETTLE_TRIES || this.#stopping) throw error
        await sleep(SETTLE_AGAIN_MS)
      }
    }
  }

  #report({ orderId, receipt }: ReceiptClaim, settlement: Settlement): void {
    const { logger, onSettled } = this.#deps
    onSettled(settlement.state)
    const line = { receipt: receipt.key, orderId: orderId.slice(0, 64), attempt: receipt.attempts + 1 }
    if (settlement.state === 'parked') logger.error({ ...line, code: settlement.code }, 'receipt.parked')
    if (settlement.state === 'owed') logger.warn({ ...line, code: settlement.code }, 'receipt.deferred')
  }
}
