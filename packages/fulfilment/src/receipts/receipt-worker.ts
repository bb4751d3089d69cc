import { setTimeout as sleep } from 'node:timers/promises'
import { keyUnknown } from '@oncehook/kernel/error-codes'
import type { Logger } from '@oncehook/kernel/logger'
import type { ReceiptClaim, SettledReceipt, Settlement } from './claims/receipt-claim.ts'
import type { ReceiptClaims } from './claims/receipt-claims.ts'
import { KeyWaits } from './key-waits.ts'
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
const SETTLE_TRIES = 5
const SETTLE_AGAIN_MS = 500

/**
 * Sends owed receipts: claims due receipts, marks them `sending`, sends them and writes the outcomes. Several workers
 * may run in parallel. Polls every half second, and at once after a nudge. If the sink fails, the worker probes it.
 * After the first success, deferred receipts are sent without waiting for their due time. Receipts whose encryption key
 * is missing wait for it, and the others do not wait for them.
 */
export class ReceiptWorker {
  readonly #deps: ReceiptWorkerDeps
  readonly #health: SinkHealth
  readonly #keyWaits = new KeyWaits()
  /** Error codes that do not concern the sink. */
  readonly #ownCodes: readonly string[]
  readonly #stopped = new AbortController()
  #troubled = false
  #wake: PromiseWithResolvers<void> = Promise.withResolvers()
  #running: Promise<void> | undefined

  constructor(deps: ReceiptWorkerDeps) {
    this.#deps = deps
    this.#ownCodes = [...(deps.sink.ownCodes ?? []), keyUnknown.code]
    this.#health = new SinkHealth({ random: deps.random, ownCodes: this.#ownCodes })
  }

  /** Starts the worker. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** Notifies the worker that a receipt may be owed. */
  nudge(): void {
    this.#wake.resolve()
  }

  /** Stops claiming receipts and starting attempts. Does not wait. */
  beginStop(): void {
    this.#stopped.abort()
    this.nudge()
  }

  /** Starts no more attempts, waits for the running ones and writes their outcomes. */
  async stop(): Promise<void> {
    this.beginStop()
    await this.#running
  }

  get #stopping(): boolean {
    return this.#stopped.signal.aborted
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const limit = this.#batchSize()
      const claimed = await this.#runBatch(limit)
      if (claimed < limit && !this.#stopping) await this.#pause()
    }
  }

  async #pause(): Promise<void> {
    const timer = new AbortController()
    const waitMs = POLL_MS * (0.5 + this.#deps.random())
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

  /** Returns the number of claimed receipts. A series of database errors is logged once, and retried. */
  async #runBatch(limit: number): Promise<number> {
    const { logger, leaseMs, sendTimeoutMs } = this.#deps
    try {
      const lastBeginning = performance.now() + leaseMs - sendTimeoutMs * 2
      const claimed = await this.#claim(limit)
      if (claimed.length > 0) await this.#sendAndSettle(claimed, lastBeginning)
      this.#troubled = false
      return claimed.length
    } catch (error) {
      if (!this.#troubled) logger.warn({ error }, 'receipt.worker-troubled')
      this.#troubled = true
      return 0
    }
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
    const allowed = this.#health.deferredAllowed(performance.now(), room)
    return allowed === 0 ? [] : await this.#deps.claims.claimDeferred(allowed, this.#ownCodes)
  }

  async #claimWaiting(room: number): Promise<ReceiptClaim[]> {
    const { claims, encryption } = this.#deps
    const { keyIds } = encryption
    return this.#keyWaits.mayLook(performance.now(), { room, keyIds }) ? await claims.claimWaiting(room, keyIds) : []
  }

  async #sendAndSettle(claimed: readonly ReceiptClaim[], lastBeginning: number): Promise<void> {
    const settled: SettledReceipt[] = []
    const queue = claimed.values()
    const runner = async (): Promise<void> => {
      for (const claim of queue) {
        const inTime = !this.#stopping && performance.now() < lastBeginning
        settled.push({ claim, settlement: await sendClaimed(this.#deps, claim, inTime) })
      }
    }
    await Promise.all(Array.from({ length: this.#deps.sink.atOnce }, runner))
    this.#health.observe(performance.now(), settled)
    this.#keyWaits.observe(settled)
    await this.#settle(settled)
    for (const { claim, settlement } of settled) this.#report(claim, settlement)
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
