import { setTimeout as sleep } from 'node:timers/promises'
import { keyUnknown } from '@oncehook/kernel/http/error-codes'
import type { Logger } from '@oncehook/kernel/log/logger'
import { NewReceipts, type ReceiptOutbox, type Reservation, type TimedClaim } from './claims/new-receipts.ts'
import type { ReceiptClaim, SettledReceipt, Settlement } from './claims/receipt-claim.ts'
import type { ReceiptClaims } from './claims/receipt-claims.ts'
import { type SendDeps, sendClaimed } from './send-claimed.ts'
import { SinkHealth } from './sink-health.ts'

/** Dependencies of the worker. */
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
const SETTLE_TRIES = 5
const SETTLE_AGAIN_MS = 500

/**
 * Sends owed receipts: claims due receipts, marks them `sending`, sends them and writes the outcomes. Several workers
 * may run in parallel. Polls every half second, more rarely while nothing is due, and at once after a nudge. While the sink accepts receipts, most of them
 * are new: the write that created them also claimed them for this worker, so they need no search and no claim. If the
 * sink fails, the worker probes it. After the first success, deferred receipts are sent without waiting for their due
 * time. Receipts whose encryption key is missing wait for it, and the others do not wait for them.
 */
export class ReceiptWorker implements ReceiptOutbox {
  readonly #deps: ReceiptWorkerDeps
  readonly #health: SinkHealth
  readonly #keyWaits = new KeyWaits()
  readonly #new: NewReceipts
  /** Error codes that do not concern the sink. */
  readonly #ownCodes: readonly string[]
  readonly #stopped = new AbortController()
  #troubled = false
  /** When to look for due receipts, in milliseconds of `performance.now()`. */
  #lookAt = 0
  /** The wait before the next look. It doubles while nothing is due. */
  #pollMs = POLL_MS
  /** When the next of the receipts that this process deferred is due, on the same clock. */
  #dueAt = Number.POSITIVE_INFINITY
  #wake: PromiseWithResolvers<void> = Promise.withResolvers()
  #running: Promise<void> | undefined

  constructor(deps: ReceiptWorkerDeps) {
    this.#deps = deps
    this.#ownCodes = [...(deps.sink.ownCodes ?? []), keyUnknown.code]
    this.#health = new SinkHealth({ random: deps.random, ownCodes: this.#ownCodes })
    this.#new = new NewReceipts({
      databaseClock: deps.claims.databaseClock,
      leaseMs: deps.leaseMs,
      beginWithinMs: this.#beginWithinMs,
      keyIds: () => deps.encryption.keyIds,
      onArrived: () => this.#wake.resolve(),
    })
  }

  /** Starts the worker. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** Notifies the worker that a receipt may be owed. */
  nudge(): void {
    this.#lookAt = 0
    this.#wake.resolve()
  }

  /**
   * Reserves room for new receipts. Null if a new receipt would not be sent soon. Null also for a sink without keys:
   * after a crash, its receipts would look like attempts with an unknown outcome.
   */
  reserve(most: number): Reservation | null {
    const isFit = this.#deps.sink.keyed && !this.#health.isFailing && !this.#troubled && !this.#stopping
    return isFit ? this.#new.reserve(most) : null
  }

  /** Stops claiming receipts and starting attempts. Does not wait. */
  beginStop(): void {
    this.#stopped.abort()
    this.nudge()
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
    return keyed ? BATCH : atOnce
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
    if (now >= this.#dueAt) this.#dueAt = Number.POSITIVE_INFINITY
    const waitMs = this.#pollMs * (0.5 + this.#deps.random())
    this.#lookAt = Math.min(now + waitMs, this.#dueAt)
    const limit = this.#batchSize()
    const claimed = await this.#claim(limit)
    const isIdle = claimed.length === 0 && !this.#health.hasFailed
    this.#pollMs = isIdle ? Math.min(this.#pollMs * 2, POLL_IDLE_MS) : POLL_MS
    if (claimed.length >= limit) this.#lookAt = 0
    return claimed.map((claim) => ({ claim, beginBy: now + this.#beginWithinMs }))
  }

  get #beginWithinMs(): number {
    const { leaseMs, sendTimeoutMs } = this.#deps
    return leaseMs - sendTimeoutMs * 2
  }

  async #claim(limit: number): Promise<ReceiptClaim[]> {
    const claimed = await this.#deps.claims.claim(limit, this.#stopped.signal)
    if (this.#stopping) return claimed
    try {
      claimed.push(...(await this.#claimDeferred(limit - claimed.length)))
      claimed.push(...(await this.#claimWaiting(limit - claimed.length)))
    } catch (error) {
      if (claimed.length === 0) throw error
    }
    return claimed
  }

  async #claimDeferred(room: number): Promise<ReceiptClaim[]> {
    const now = performance.now()
    const allowed = this.#health.deferredAllowed(now, room)
    if (allowed === 0) return []
    const claimed = await this.#deps.claims.claimDeferred(allowed, this.#ownCodes)
    if (claimed.length === 0) this.#health.foundNone(now)
    return claimed
  }

  async #claimWaiting(room: number): Promise<ReceiptClaim[]> {
    const { claims, encryption } = this.#deps
    const { keyIds } = encryption
    return this.#keyWaits.mayLook(performance.now(), { room, keyIds }) ? await claims.claimWaiting(room, keyIds) : []
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
    this.#health.observe(performance.now(), settled)
    this.#keyWaits.observe(settled)
    await this.#settle(settled)
    this.#expect(settled)
    for (const { claim, settlement } of settled) this.#report(claim, settlement)
  }

  /** Looks in time for what was deferred. */
  #expect(settled: readonly SettledReceipt[]): void {
    const waits = settled.flatMap(({ settlement }) => (settlement.state === 'owed' ? [settlement.waitMs] : []))
    this.#dueAt = Math.min(this.#dueAt, performance.now() + Math.min(...waits))
    this.#lookAt = Math.min(this.#lookAt, this.#dueAt)
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
    const named = { receipt: receipt.key, orderId: orderId.slice(0, 64) }
    const line = { ...named, attempt: receipt.attempts + 1 }
    if (settlement.state === 'waiting') logger.warn({ ...named, code: keyUnknown.code }, 'receipt.deferred')
    if (settlement.state === 'parked') logger.error({ ...line, code: settlement.code }, 'receipt.parked')
    if (settlement.state === 'owed') logger.warn({ ...line, code: settlement.code }, 'receipt.deferred')
  }
}

const LOOK_AGAIN_MS = 30_000

/** What a search can find: the number of receipts, and their encryption keys. */
export interface KeyLook {
  readonly room: number
  /** The ids of the keys that are there. */
  readonly keyIds: readonly string[]
}

/**
 * Decides when to look for receipts that wait for an encryption key: every 30 s, when the keys change, and without a
 * pause as long as a look finds some that can be read. A key that is there may still not be the one that encrypted, so
 * not every look finds some. Times are milliseconds of one clock.
 */
export class KeyWaits {
  #lookAt = 0
  #knownIds = ''

  /** Whether to look now. Calling this counts as a look. */
  mayLook(now: number, { room, keyIds }: KeyLook): boolean {
    if (room < 1 || keyIds.length === 0) return false
    const ids = JSON.stringify(keyIds)
    if (now < this.#lookAt && ids === this.#knownIds) return false
    this.#knownIds = ids
    this.#lookAt = now + LOOK_AGAIN_MS
    return true
  }

  /** Records the outcomes of a batch. */
  observe(settled: readonly SettledReceipt[]): void {
    const isReadable = ({ claim, settlement }: SettledReceipt): boolean =>
      typeof claim.receipt.dueAt === 'string' && settlement.state !== 'waiting'
    if (settled.some(isReadable)) this.#lookAt = 0
  }
}
