import type { AppError } from '@oncehook/kernel/http/errors'
import { withTimeout } from '@oncehook/kernel/time/waits'
import type { Claim, ClaimTaker, SettledClaim } from '../inbox/claims/claim.ts'
import { FULFILMENT } from '../inbox/event-document.ts'
import { beginAttempt, settleAttempt } from './attempt-writes.ts'
import { BacklogGrowth } from './backlog-growth.ts'
import type { DispatcherDeps, Lease } from './dispatcher-deps.ts'
import { type Before, CallHealth } from './health/call-health.ts'
import { Heartbeat } from './heartbeat.ts'
import { IdlePace } from './pace/idle-pace.ts'
import { POLL_MS, startTimers, TAKEOVER_MS } from './pace/start-timers.ts'
import type { CallFailure } from './process-batch.ts'
import { RunningBatches } from './turns/running-batches.ts'
import { type Batch, type Room, WaitingClaims, type Way } from './waiting-claims.ts'
import { withoutPaused } from './without-paused.ts'
import { roomNow, type WorkSizes, workSizes } from './work-sizes.ts'

const POLL_IDLE_MS = 2_500
const STOP_GRACE_MS = 2_500
const RELEASE_MS = 1_000

/**
 * Sends stored events to fulfilment, or to a handler: this process's new events from memory, all others by claims. It
 * uses batches, limited concurrency, a breaker, and one lease for all. Memory and database take turns, so that due events in the
 * database are handled under any load. Events that may have made an attempt fail are sent separately from the rest.
 */
export class Dispatcher implements ClaimTaker {
  /** The lease of this process. */
  readonly lease: Lease
  readonly #deps: DispatcherDeps
  readonly #health: CallHealth
  readonly #sizes: WorkSizes
  readonly #waiting: WaitingClaims
  readonly #growth: BacklogGrowth
  readonly #held = new Map<Claim, Way>()
  readonly #running: RunningBatches
  readonly #pace = new IdlePace({ leastMs: POLL_MS, mostMs: POLL_IDLE_MS, now: () => performance.now() })
  readonly #takeoverPace: IdlePace
  #timers: readonly { stop(): Promise<void> }[] = []
  #scheduled = false
  #started = false
  #stopping = false
  /** Whether it stops in so short a time that no outcome can be written again after a failure. */
  #isHurried = false
  #polling: Promise<void> | null = null
  /** Whether due events remained after the latest poll. */
  #moreDue = false
  /** Whether there may be due events that no poll has looked for yet. */
  #expected = false

  constructor(deps: DispatcherDeps) {
    this.#deps = deps
    this.#waiting = new WaitingClaims(deps.maxCrashes)
    this.#growth = new BacklogGrowth(deps.batchSize)
    this.#health = new CallHealth(deps)
    this.#sizes = workSizes(deps)
    this.#running = new RunningBatches({ ...this.#sizes, turn: deps.turn, wake: this.#schedule })
    const mostMs = deps.leaseMs / 6
    this.#takeoverPace = new IdlePace({ leastMs: Math.min(TAKEOVER_MS, mostMs), mostMs, now: () => performance.now() })
    this.lease = deps.lease ?? new Heartbeat({ ...deps, now: () => performance.now(), onError: this.#onDatabaseError })
  }

  readonly #onDatabaseError = (error: unknown): void => this.#deps.logger.warn({ error }, 'dispatch.database-failed')

  /**
   * Whether this process claims a new record on insert. If not, the record is inserted as pending. It does not claim
   * new records while older ones are due in the database, because the new ones would overtake them, nor before `announce`.
   */
  admits(): boolean {
    if (this.#stopping || this.#isPaused || !this.#health.isUp || !this.lease.isAlive) return false
    if (!this.#moreDue && this.#held.size < this.#sizes.maxHeld) return true
    this.#growth.joined()
    return false
  }

  /** Takes a claim that was made on insert. */
  take(claim: Claim): void {
    this.#add(claim, true)
  }

  /** Says that it is unknown whether a record was stored, which this process may have claimed on insert. */
  doubt(): void {
    this.#deps.claims.doubt()
  }

  /** Says that a record was stored as pending. It is looked for at once. */
  expect(): void {
    this.#expected = true
    if (this.#started) this.#pollOnce().catch(this.#onDatabaseError)
  }

  get held(): Iterable<Claim> {
    return this.#held.keys()
  }

  /** Whether its calls are answered. If not, only single events are sent until one is. */
  get isUp(): boolean {
    return this.#health.isUp
  }

  get #isPaused(): boolean {
    return this.#deps.allowance?.isPaused === true
  }

  #add(claim: Claim, isNew: boolean): void {
    this.#held.set(claim, this.#waiting.add(claim, isNew))
    this.#schedule()
  }

  /** Writes that this process is alive, again and again. Resolves after the first time: from then on it may claim. */
  announce(): Promise<void> {
    return this.lease.start()
  }

  /** Starts to send claims, and to poll for due or abandoned records. Also does what `announce` does. */
  start(): void {
    this.#started = true
    this.#schedule()
    void this.announce().then(() => this.#pollOnce().catch(this.#onDatabaseError))
    this.#timers = startTimers({
      ...{ ...this.#deps, onError: this.#onDatabaseError },
      ...{ poll: () => this.#pollOnce(), takeOver: () => this.#takeOver() },
      refreshPauses: () => this.#deps.pauses.refresh(),
    })
  }

  /**
   * Releases what waits, and lets the batches in progress end, but for `graceMs` at most. Then it ends the lease of this
   * process, so that events that could not be released are taken over at once. A second call can shorten the time.
   */
  async stop(graceMs = STOP_GRACE_MS): Promise<void> {
    this.#stopping = true
    this.#isHurried = graceMs <= STOP_GRACE_MS
    const timers = [...this.#timers, this.lease].map((timer) => timer.stop())
    const released = this.#release(this.#waiting.drain())
    const polled = this.#polling?.catch(() => undefined)
    await withTimeout(Promise.all([released, polled, ...timers, this.#running.ended()]), graceMs)
    // A call that is still open may yet have its effect. Fulfilment then answers the next attempt with `duplicate`.
    const ended = this.#release([...this.#held.keys()]).then(() => this.lease.end())
    await withTimeout(ended, RELEASE_MS)
  }

  readonly #schedule = (): void => {
    if (this.#scheduled) return
    this.#scheduled = true
    // After the callbacks of this turn, so that events stored by one command are sent in one batch.
    setImmediate(() => {
      this.#scheduled = false
      this.#pump()
    })
  }

  #pump(): void {
    if (!this.#started || this.#stopping || this.#held.size === 0) return
    const fresh = this.#deps.pauses.use()
    if (fresh !== null) return void fresh.then(() => this.#schedule())
    for (let batch = this.#nextBatch(); batch !== null; batch = this.#nextBatch()) this.#send(batch)
  }

  #nextBatch(): Batch | null {
    const room = this.#deps.allowance?.room ?? Number.POSITIVE_INFINITY
    const running = this.#running.room
    if (room < 1 || running === null || !this.#health.allowsCall) return null
    if (!this.#health.isUp) return this.#running.size === 0 ? this.#waiting.nextProbe(running) : null
    return this.#waiting.next({ ...running, ...this.#roomOf(room) })
  }

  #send({ way, claims: taken }: Batch): void {
    const { paused, claims } = withoutPaused(taken, this.#deps.pauses.current)
    // They are due in the database again, where the search postpones them.
    if (paused.length > 0) void this.#release(paused)
    if (claims.length === 0) return
    this.#deps.allowance?.used(claims.length)
    const called = this.#call({ way, claims })
    this.#running.add({ way, called, settled: called.then((all) => this.#settle(all)) }, () => {
      for (const claim of claims) this.#held.delete(claim)
      this.#growth.handled(claims.length)
      this.#schedule()
      this.#expected ||= claims.some(({ line }) => line !== undefined)
      if (this.#moreDue || this.#expected) this.#pollOnce().catch(this.#onDatabaseError)
    })
  }

  /**
   * What the next batch may be. A backlog has a gentle pace, so that deliveries do not wait for it, unless it grows or more
   * events wait in memory than it puts there.
   */
  #roomOf(allowed: number): Pick<Room, 'limit' | 'lanes'> {
    const isBacklog = this.#moreDue && !this.#growth.outgrowsGentlePace
    const isGentle = isBacklog && this.#waiting.newOnes < this.#sizes.mostClaimed
    return roomNow(this.#sizes, { isGentle, unwritten: this.#running.unwritten, allowed })
  }

  /** How many events may be claimed at once: one, as a probe, while fulfilment is unavailable. */
  get #limit(): number {
    return this.#health.isUp ? this.#sizes.claim : 1
  }

  async #call(batch: Batch): Promise<readonly SettledClaim[]> {
    if (!(await beginAttempt(this.#deps, batch))) return []
    const { before } = this.#health
    const { settled, asked, failure } = await this.#deps.process(batch.claims)
    if (failure === null && asked) this.#health.succeeded()
    return failure === null ? settled : [...settled, ...(await this.#failed(failure, before))]
  }

  async #settle(all: readonly SettledClaim[]): Promise<void> {
    await settleAttempt(this.#deps, all, () => this.#isHurried)
    for (const { settlement } of all) if (settlement.state === 'pending') this.#pace.expect(settlement.delayMs)
  }

  /**
   * Handles a call that failed as a whole, and returns the events to postpone. If fulfilment is well otherwise, several
   * events are not postponed but tried again at once, in smaller groups. In that case only a second failure without a
   * success in between opens the breaker.
   */
  async #failed(failure: CallFailure, before: Before): Promise<readonly SettledClaim[]> {
    const { error, putOff } = failure
    const { counted, isWellOtherwise } = this.#health.failed(failure, before)
    if (!isWellOtherwise) {
      await this.#backOff(error)
      return counted
    }
    if (failure.isBusy !== true) this.#deps.logger.warn({ error, events: putOff.length }, 'fulfilment.call-failed')
    if (counted.length === 1 || failure.isBusy === true || this.#stopping) return counted
    for (const { claim } of counted) this.#add(claim, false)
    return []
  }

  async #backOff(error: AppError): Promise<void> {
    const { handler, logger } = this.#deps
    if (this.#health.isUp) {
      logger.warn({ error, handler }, handler === FULFILMENT ? 'fulfilment.unreachable' : 'handler.unreachable')
    }
    this.#health.wentDown()
    await this.#release(this.#waiting.drain())
  }

  async #release(claims: readonly Claim[]): Promise<void> {
    for (const claim of claims) this.#held.delete(claim)
    try {
      await this.#deps.claims.release(claims)
      this.#pace.expect(0)
    } catch (error) {
      this.#deps.logger.warn({ error, events: claims.length }, 'event.release-failed')
    }
  }

  /** Polls, unless a poll is in progress. */
  #pollOnce(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = null
    })
    return this.#polling
  }

  async #poll(): Promise<void> {
    // Events that were taken as fulfilment went down are the probe of its return: nothing else would send them.
    this.#schedule()
    if (this.#isPaused) await this.#release(this.#waiting.drain())
    while ((this.#moreDue || this.#expected || this.#pace.isTime) && this.#mayClaim('due')) {
      const limit = this.#limit
      const isExpected = this.#expected
      this.#expected = false
      const claimed = await this.#deps.claims.claimDue(limit, isExpected)
      this.#moreDue = claimed.length === limit
      this.#pace.answered(claimed.length === 0 && this.#health.isUp)
      await this.#hold(claimed)
      if (!this.#moreDue) this.#growth.ended()
      if (!(this.#moreDue || this.#expected) || !this.#health.isUp) return
    }
  }

  async #takeOver(): Promise<void> {
    const { claims, logger } = this.#deps
    const strays = await claims.releaseStrays(() => this.#held.keys())
    if (strays > 0) logger.warn({ events: strays }, 'event.strays-released')
    if (!this.#takeoverPace.isTime || !this.#mayClaim('few')) return
    const { taken, poisoned, againInMs } = await claims.takeOver(this.#limit)
    this.#takeoverPace.answered(taken.length === 0 && poisoned === 0 && this.#health.isUp)
    this.#takeoverPace.expect(againInMs)
    if (taken.length > 0) logger.warn({ events: taken.length }, 'event.taken-over')
    if (poisoned > 0) logger.error({ events: poisoned, reason: 'worker_died' }, 'event.poisoned')
    await this.#hold(taken)
  }

  /** Takes claimed events. If a stop came in the meantime, releases them. */
  async #hold(claims: readonly Claim[]): Promise<void> {
    if (this.#stopping) return this.#release(claims)
    for (const claim of claims) this.#add(claim, false)
  }

  /** Whether more events may be claimed. Beside new ones, there is always room for a batch of due and one of abandoned ones. */
  #mayClaim(way: 'due' | 'few'): boolean {
    if (this.#stopping || this.#isPaused || !this.#health.allowsCall || !this.lease.isAlive) return false
    if (!this.#health.isUp) return this.#held.size === 0
    if (this.#held.size < this.#sizes.mostClaimed) return true
    const held = Array.from(this.#held.values()).filter((one) => one === way)
    return this.#held.size < 2 * this.#sizes.maxHeld && held.length < this.#limit
  }
}
