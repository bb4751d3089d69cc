import { setTimeout as sleep } from 'node:timers/promises'
import { type Backoff, backoffMs } from '@oncehook/kernel/backoff'
import type { Clock } from '@oncehook/kernel/clock'
import type { AppError } from '@oncehook/kernel/errors'
import type { Logger } from '@oncehook/kernel/logger'
import { within } from '@oncehook/kernel/within'
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
const SETTLE_BACKOFF: Backoff = { baseMs: 500, capMs: 2_000 }
const SETTLE_REPEATS = 4
const BATCHES_AHEAD = 10
// More of a backlog at once would hold up the thread, and the database, for longer than an accept should wait.
const MOST_OF_BACKLOG = 250
const STOP_GRACE_MS = 2_500

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
  #started = false
  #stopping = false
  #polling: Promise<void> | null = null
  /** Whether the latest poll left something that is due. */
  #moreDue = false

  constructor(deps: DispatcherDeps) {
    this.#deps = deps
    this.#breaker = createBreaker(PROBES, deps.random)
    this.#maxHeld = deps.batchSize * BATCHES_AHEAD
  }

  readonly #onDatabaseError = (error: unknown): void => this.#deps.logger.warn({ error }, 'dispatch.database-failed')

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

  /** Begins to hand on what was taken in, to poll for records that are due or abandoned, and to renew leases. */
  start(): void {
    this.#started = true
    this.#schedule()
    const { random, leaseMs } = this.#deps
    const onError = this.#onDatabaseError
    const renew = (): Promise<void> => this.#deps.claims.renew([...this.#held])
    this.#timers = [
      runEvery({ task: () => this.#pollOnce(), everyMs: POLL_MS, random, onError }),
      runEvery({ task: () => this.#takeOver(), everyMs: Math.min(TAKE_OVER_MS, leaseMs / 6), random, onError }),
      runEvery({ task: renew, everyMs: leaseMs / 3, random, onError }),
    ]
  }

  /** Lets the batches under way end, for a bounded while, and gives everything else back. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#timers.map((timer) => timer.stop()))
    await this.#polling?.catch(() => undefined)
    await this.#giveBack(this.#queue.splice(0))
    await within(Promise.all(this.#running), STOP_GRACE_MS)
    // A call that is still open may yet have its effect: whoever tries again is answered `duplicate`.
    await this.#giveBack([...this.#held])
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
    while (this.#started && !this.#stopping && this.#queue.length > 0 && this.#hasLane()) {
      const batch = nextBatch(this.#queue, this.#limit())
      const run = this.#run(batch).finally(() => {
        this.#running.delete(run)
        for (const claim of batch) this.#held.delete(claim)
        this.#schedule()
        if (this.#moreDue) this.#pollOnce().catch(this.#onDatabaseError)
      })
      this.#running.add(run)
    }
  }

  #hasLane(): boolean {
    if (!this.#breaker.allows(this.#deps.clock.now())) return false
    return this.#running.size < this.#lanes()
  }

  /** No more than keeps the lanes of a backlog busy: what is left is for other processes. */
  get #mostClaimed(): number {
    const { batchSize, concurrency } = this.#deps
    return batchSize * (halfOf(concurrency) + 1)
  }

  /**
   * While a backlog is worked off, fewer and smaller batches are under way, or accepts would wait for them. Not when more
   * waits in memory than a backlog puts there: then new events come faster than half of the lanes carry.
   */
  get #isCatchingUp(): boolean {
    return this.#moreDue && this.#queue.length < this.#mostClaimed
  }

  /** How many batches may be under way. */
  #lanes(): number {
    if (!this.#breaker.closed) return 1
    return this.#isCatchingUp ? halfOf(this.#deps.concurrency) : this.#deps.concurrency
  }

  /** How many events may go at once: one, as a probe, while fulfilment is away. */
  #limit(): number {
    if (!this.#breaker.closed) return 1
    return this.#isCatchingUp ? Math.min(this.#deps.batchSize, MOST_OF_BACKLOG) : this.#deps.batchSize
  }

  async #run(batch: readonly Claim[]): Promise<void> {
    if (!(await this.#begun(batch))) return
    const { settled, asked, failure } = await this.#deps.process(batch)
    if (failure !== null) await this.#backOff(failure)
    else if (asked) this.#breaker.succeeded()
    const lost = await this.#settle(settled)
    if (lost === null) return
    if (lost.size > 0) this.#deps.onLost(lost.size)
    for (const one of settled) if (!lost.has(one)) this.#deps.onSettled(one)
  }

  /**
   * Settles, and again after a failure: an election is shorter than a lease, and the leases are renewed meanwhile. Null when
   * it gave up: then the leases run out and the events are tried again, which fulfilment answers with `duplicate`.
   */
  async #settle(settled: readonly SettledClaim[]): Promise<ReadonlySet<SettledClaim> | null> {
    for (let failures = 0; ; failures += 1) {
      try {
        return new Set(await this.#deps.claims.settle(settled))
      } catch (error) {
        const again = !this.#stopping && failures < SETTLE_REPEATS
        this.#deps.logger.error({ error, events: settled.length, again }, 'event.settle-failed')
        if (!again) return null
        await sleep(backoffMs(SETTLE_BACKOFF, failures, this.#deps.random))
      }
    }
  }

  /** Whether a batch may be tried: one of suspects only once that is written, so that no death of theirs goes uncounted. */
  async #begun(batch: readonly Claim[]): Promise<boolean> {
    const suspects = batch.filter(({ lost }) => lost > 0)
    if (suspects.length === 0) return true
    try {
      await this.#deps.claims.begin(suspects)
      return true
    } catch (error) {
      // Their leases run out, and they are taken over anew.
      this.#deps.logger.warn({ error, events: batch.length }, 'event.begin-failed')
      return false
    }
  }

  async #backOff(error: AppError): Promise<void> {
    if (this.#breaker.closed) this.#deps.logger.warn({ error }, 'fulfilment.unreachable')
    this.#breaker.failed(this.#deps.clock.now())
    await this.#giveBack(this.#queue.splice(0))
  }

  async #giveBack(claims: readonly Claim[]): Promise<void> {
    for (const claim of claims) this.#held.delete(claim)
    try {
      await this.#deps.claims.release(claims)
    } catch (error) {
      this.#deps.logger.warn({ error, events: claims.length }, 'event.release-failed')
    }
  }

  /** Polls, unless a poll is under way. */
  #pollOnce(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = null
    })
    return this.#polling
  }

  async #poll(): Promise<void> {
    // What was taken in as fulfilment went away is the probe that finds it again: nothing else would send it.
    this.#schedule()
    while (this.#mayClaim()) {
      const limit = this.#limit()
      const claimed = await this.#deps.claims.claimDue(limit)
      for (const claim of claimed) this.take(claim)
      this.#moreDue = claimed.length === limit
      if (!this.#moreDue || !this.#breaker.closed) return
    }
  }

  async #takeOver(): Promise<void> {
    if (!this.#mayClaim()) return
    const { taken, buried } = await this.#deps.claims.takeOver(this.#breaker.closed ? this.#deps.batchSize : 1)
    if (taken.length > 0) this.#deps.logger.warn({ events: taken.length }, 'event.taken-over')
    if (buried > 0) this.#deps.logger.error({ events: buried, reason: 'worker_died' }, 'event.buried')
    for (const claim of taken) this.take(claim)
  }

  #mayClaim(): boolean {
    if (this.#stopping || !this.#breaker.allows(this.#deps.clock.now())) return false
    return this.#held.size < (this.#breaker.closed ? this.#mostClaimed : 1)
  }
}

function halfOf(lanes: number): number {
  return Math.ceil(lanes / 2)
}

// Enough that thousands of orphans of one death are no long wait, few enough that little goes down with what killed it.
const ORPHANS_TOGETHER = 25

/**
 * Takes the next batch out of the queue. Claims that have lost a holder once travel with their like, a few at a time; who
 * has lost two may be what killed them, and travels alone.
 */
function nextBatch(queue: Claim[], limit: number): Claim[] {
  const lost = queue[0]?.lost ?? 0
  if (lost > 1) return queue.splice(0, 1)
  const most = lost === 1 ? Math.min(limit, ORPHANS_TOGETHER) : limit
  const other = queue.findIndex((claim) => claim.lost !== lost)
  return queue.splice(0, other <= 0 ? most : Math.min(most, other))
}
