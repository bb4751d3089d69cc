import type { Backoff } from '@oncehook/kernel/backoff'
import type { Clock } from '@oncehook/kernel/clock'
import type { AppError } from '@oncehook/kernel/errors'
import type { Logger } from '@oncehook/kernel/logger'
import type { Claim, Claims, SettledClaim } from '../inbox/claims.ts'
import { type Breaker, createBreaker } from './breaker.ts'
import type { ProcessedBatch } from './process-batch.ts'
import { runEvery } from './run-every.ts'

/** What the dispatcher works with. Times are milliseconds. */
export interface DispatcherDeps {
  readonly claims: Claims
  readonly process: (batch: readonly Claim[]) => Promise<ProcessedBatch>
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly batchSize: number
  readonly concurrency: number
  readonly leaseMs: number
  readonly onSettled: (settled: SettledClaim) => void
  readonly onLost: (count: number) => void
}

const POLL_MS = 500
const TAKE_OVER_MS = 1_000
const PROBES: Backoff = { baseMs: 250, capMs: 5_000 }
const BATCHES_AHEAD = 10

/**
 * Hands stored events on to fulfilment: those of this process from memory, all others by claims. Batches, bounded
 * concurrency, a breaker, and leases that are renewed while claims wait.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps
  readonly #breaker: Breaker
  readonly #maxHeld: number
  readonly #queue: Claim[] = []
  readonly #held = new Set<Claim>()
  readonly #running = new Set<Promise<void>>()
  #timers: readonly { stop(): Promise<void> }[] = []
  #scheduled = false
  #stopping = false

  constructor(deps: DispatcherDeps) {
    this.#deps = deps
    this.#breaker = createBreaker(PROBES, deps.random)
    this.#maxHeld = deps.batchSize * BATCHES_AHEAD
  }

  /** Whether fulfilment answered the latest call. */
  get healthy(): boolean {
    return this.#breaker.closed
  }

  /** Whether a new record may be born claimed by this process; else it is to be born pending. */
  admits(): boolean {
    return !this.#stopping && this.#breaker.closed && this.#held.size < this.#maxHeld
  }

  /** Takes in a claim that was made with the insert. */
  take(claim: Claim): void {
    this.#held.add(claim)
    this.#queue.push(claim)
    this.#schedule()
  }

  /** Begins to poll for records that are due or abandoned, and to renew leases. */
  start(): void {
    const { random, leaseMs, logger } = this.#deps
    const onError = (error: unknown): void => logger.warn({ error }, 'dispatch.database-failed')
    const renew = (): Promise<void> => this.#deps.claims.renew([...this.#held])
    this.#timers = [
      runEvery({ task: () => this.#poll(), everyMs: POLL_MS, random, onError }),
      runEvery({ task: () => this.#takeOver(), everyMs: Math.min(TAKE_OVER_MS, leaseMs / 6), random, onError }),
      runEvery({ task: renew, everyMs: leaseMs / 3, random, onError }),
    ]
  }

  /** Ends the batches under way and gives the rest back. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#timers.map((timer) => timer.stop()))
    await Promise.all(this.#running)
    await this.#giveBack()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // After the callbacks of this turn, so that events stored by one command travel in one batch.
    setImmediate(() => {
      this.#scheduled = false
      this.#pump()
    })
  }

  #pump(): void {
    while (!this.#stopping && this.#queue.length > 0 && this.#hasLane()) {
      const batch = nextBatch(this.#queue, this.#limit())
      const run = this.#run(batch).finally(() => {
        this.#running.delete(run)
        for (const claim of batch) this.#held.delete(claim)
        this.#schedule()
      })
      this.#running.add(run)
    }
  }

  #hasLane(): boolean {
    if (!this.#breaker.allows(this.#deps.clock.now())) return false
    return this.#running.size < (this.#breaker.closed ? this.#deps.concurrency : 1)
  }

  /** How many events may go at once: one, as a probe, while fulfilment is away. */
  #limit(): number {
    return this.#breaker.closed ? this.#deps.batchSize : 1
  }

  async #run(batch: readonly Claim[]): Promise<void> {
    const { settled, failure } = await this.#deps.process(batch)
    if (failure === null) this.#breaker.succeeded()
    else await this.#backOff(failure)
    try {
      const lost = await this.#deps.claims.settle(settled)
      if (lost > 0) this.#deps.onLost(lost)
      for (const one of settled) this.#deps.onSettled(one)
    } catch (error) {
      // Nothing is lost: the leases run out and the events are tried again, which fulfilment answers with `duplicate`.
      this.#deps.logger.error({ error, events: settled.length }, 'event.settle-failed')
    }
  }

  async #backOff(error: AppError): Promise<void> {
    if (this.#breaker.closed) this.#deps.logger.warn({ error }, 'fulfilment.unreachable')
    this.#breaker.failed(this.#deps.clock.now())
    await this.#giveBack()
  }

  async #giveBack(): Promise<void> {
    const waiting = this.#queue.splice(0)
    for (const claim of waiting) this.#held.delete(claim)
    try {
      await this.#deps.claims.release(waiting)
    } catch (error) {
      this.#deps.logger.warn({ error, events: waiting.length }, 'event.release-failed')
    }
  }

  async #poll(): Promise<void> {
    // What was taken in as fulfilment went away is the probe that finds it again: nothing else would send it.
    this.#schedule()
    while (this.#mayClaim()) {
      const limit = this.#limit()
      const claimed = await this.#deps.claims.claimDue(limit)
      for (const claim of claimed) this.take(claim)
      if (claimed.length < limit || !this.#breaker.closed) return
    }
  }

  async #takeOver(): Promise<void> {
    if (!this.#mayClaim()) return
    const { taken, buried } = await this.#deps.claims.takeOver(this.#limit())
    if (taken.length > 0) this.#deps.logger.warn({ events: taken.length }, 'event.taken-over')
    if (buried > 0) this.#deps.logger.error({ events: buried, reason: 'worker_died' }, 'event.buried')
    for (const claim of taken) this.take(claim)
  }

  #mayClaim(): boolean {
    if (this.#stopping || !this.#breaker.allows(this.#deps.clock.now())) return false
    return this.#held.size < (this.#breaker.closed ? this.#maxHeld / 2 : 1)
  }
}

/** Takes the next batch out of the queue. A claim whose holder died travels alone: it may be what killed it. */
function nextBatch(queue: Claim[], limit: number): Claim[] {
  const suspect = queue.findIndex(({ lost }) => lost > 0)
  if (suspect === 0) return queue.splice(0, 1)
  return queue.splice(0, suspect === -1 ? limit : Math.min(limit, suspect))
}
