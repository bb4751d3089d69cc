import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@oncehook/kernel/log/logger'
import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { withTimeout } from '@oncehook/kernel/time/waits'
import type { Claim, SettledClaim } from '../claim/claim.ts'
import type { Claims } from '../claim/claims.ts'
import { Breaker } from './breaker.ts'
import type { UsedPauses } from './fresh-pauses.ts'
import { type Allowance, BacklogGrowth, type ClaimSizes, claimSizes } from './pace.ts'
import type { Send, Sent } from './send.ts'
import { settleRepeatedly } from './settle.ts'

/*
 * The dispatcher of one handler in one process. It sends claimed tasks in batches, a limited number at a time, and writes their
 * outcomes. New tasks come from memory, claimed when they were stored; all others it claims as they become due.
 *
 * It holds at most twice what it can send at once, four times if it sends singly, so that what it holds is sent within seconds. It
 * claims when there is room for a batch, or for half of what it may hold: a claim costs three commands, however small it is. What
 * it cannot send in time, because its claim ends before the call may end, it gives back; so it does with everything when the handler
 * is paused or does not answer, or when the process stops. While more is due than it has claimed, it claims no new tasks on insert,
 * which would overtake the others, and a backlog gets half of the calls, unless it grows.
 *
 * Suspects come one group after the other, from the lane that all dispatchers of the process share. After a call that failed, other
 * tasks are sent first: only a verdict about one of them tells whether a suspect is the cause, or an outage. If the next call breaks
 * too, its tasks become no suspects: that call has probed an outage.
 */

export interface DispatcherDeps {
  readonly handler: string
  readonly claims: Claims
  readonly send: Send
  readonly pauses: UsedPauses
  readonly allowance: Allowance
  readonly batchSize: number
  readonly concurrency: number
  /** How long a call may take, and how long a task may wait here before it. */
  readonly callMs: number
  readonly leaseMs: number
  readonly random: () => number
  readonly now: () => number
  readonly databaseNow: () => number
  readonly logger: Logger
  readonly onSettled: (settled: SettledClaim) => void
  readonly onLost: (count: number) => void
}

const POLL_MS = 500
const STOP_GRACE_MS = 2_500
const RELEASE_MS = 1_000
// A larger batch of a backlog keeps the gateway and the database from deliveries for longer, a smaller one costs more for each
// event: docs/explanation/performance.md.
const GENTLE_BATCH = 125
// Enough that calls do not wait for the database, few enough that not much is repeated after a crash.
const UNSETTLED_OF_A_LANE = 4
const UNREAD_PAUSE_MS = 500
// Longer than the time between two turns of a dispatcher in the lane of suspects.
const KEPT_FREE_MS = 3_000

export class Dispatcher {
  readonly #deps: DispatcherDeps
  readonly #breaker: Breaker
  readonly #growth: BacklogGrowth
  readonly #sizes: ClaimSizes
  readonly #held = new Set<Claim>()
  #waiting: Claim[] = []
  readonly #running = new Set<Promise<void>>()
  /** Calls that have not been answered. Those beyond them in `#running` wait for their outcomes to be written. */
  #calls = 0
  /** New tasks that are claimed on insert, and whose insert is under way. */
  #expectedClaims = 0
  /** How many calls are kept free for suspects, and until when. */
  #kept = { calls: 0, until: 0 }
  #pausesSeen: unknown
  #verdictAt: Date | null = null
  #timers: readonly { stop(): Promise<void> }[] = []
  #isTakingSuspects = false
  #isScheduled = false
  #isStarted = false
  #isStopping = false
  #polling: Promise<void> | null = null
  /** Whether due tasks remained after the latest poll. */
  #moreDue = false
  /** Whether there may be due tasks that no poll has looked for yet. */
  #isExpected = false

  constructor(deps: DispatcherDeps) {
    const { batchSize, now, random } = deps
    this.#deps = deps
    this.#pausesSeen = deps.pauses.current
    this.#breaker = new Breaker(now, random)
    this.#growth = new BacklogGrowth(batchSize)
    this.#sizes = claimSizes(deps)
  }

  get lastsMs(): number {
    return this.#deps.leaseMs + this.#deps.callMs
  }

  /** Whether its calls are answered. If not, only single tasks are sent until one is. */
  get isUp(): boolean {
    return this.#breaker.isClosed
  }

  /**
   * Whether this process claims a new record on insert. If not, the record is inserted as pending. It does not claim new records
   * while older ones are due in the database, because the new ones would overtake them. After a yes, `take` or `miss` follows.
   */
  admits(): boolean {
    if (!this.#isStarted || this.#isStopping || this.#deps.allowance.isPaused || !this.isUp) return false
    if (!this.#moreDue && this.#held.size + this.#expectedClaims < this.#sizes.mostHeld) {
      this.#expectedClaims += 1
      return true
    }
    this.#growth.joined()
    return false
  }

  take(claim: Claim): void {
    this.#expectedClaims = Math.max(0, this.#expectedClaims - 1)
    this.#held.add(claim)
    this.#waiting.push(claim)
    this.#schedule()
  }

  /** Says that a record which this process was to claim was not inserted, or perhaps not. */
  miss(): void {
    this.#expectedClaims = Math.max(0, this.#expectedClaims - 1)
  }

  /** Says that a record was stored as pending. It is looked for at once. */
  expect(): void {
    this.#isExpected = true
    if (this.#isStarted) this.#pollOnce().catch(this.#onDatabaseError)
  }

  start(): void {
    const { claims, random } = this.#deps
    const onError = this.#onDatabaseError
    this.#isStarted = true
    this.#schedule()
    void this.#pollOnce().catch(onError)
    this.#timers = [
      runPeriodically({ task: () => this.#pollOnce(), everyMs: POLL_MS, random, onError }),
      runPeriodically({ task: () => this.#refreshPauses(), everyMs: 1_000, random, onError }),
      runPeriodically({ task: () => claims.sweepLines(), everyMs: 1_000, random, onError }),
    ]
  }

  /**
   * Releases what waits, and lets the calls in progress end, but for `graceMs` at most. Then it releases what it still holds. A
   * second call can shorten the time. No outcome is written again after a failure.
   */
  async stop(graceMs = STOP_GRACE_MS): Promise<void> {
    this.#isStopping = true
    const timers = this.#timers.map((timer) => timer.stop())
    const released = this.#release(this.#waiting.splice(0))
    const polled = this.#polling?.catch(() => undefined)
    await withTimeout(Promise.all([released, polled, ...timers, ...this.#running]), graceMs)
    // A call that is still open may yet have its effect. The handler then answers the next attempt with `duplicate`.
    await withTimeout(this.#release([...this.#held]), RELEASE_MS)
  }

  get handler(): string {
    return this.#deps.handler
  }

  /**
   * Whether it may be given suspects now. After a call that failed, a suspect is a probe if there is nothing else. If all calls are
   * under way, the next that ends makes room for suspects.
   */
  mayTrySuspects(): boolean {
    const { allowance, concurrency } = this.#deps
    if (!this.#isStarted || this.#isStopping || allowance.isPaused || allowance.room < 1) return false
    if (this.#calls >= concurrency) {
      this.#keepFree(1)
      return false
    }
    if (!this.#breaker.isDoubtful) return true
    const hasOthers = this.#held.size > 0 || this.#moreDue || this.#isExpected || this.#polling !== null
    return this.#breaker.allowsCall && !hasOthers
  }

  /** Claims the next suspects and sends them. Resolves to whether there were any, after their outcomes are written. */
  async trySuspects(): Promise<boolean> {
    const { handler, logger } = this.#deps
    const found = await this.#claimSuspects()
    if (found.buried > 0) logger.error({ events: found.buried, handler }, 'event.poisoned')
    if (found.claims.length === 0) return found.buried > 0
    logger.warn({ events: found.claims.length, handler }, 'event.taken-over')
    await this.#sendSuspects(found.claims)
    return true
  }

  async #claimSuspects(): ReturnType<Claims['claimSuspects']> {
    const { allowance, concurrency } = this.#deps
    const calls = this.#breaker.isDoubtful ? 1 : concurrency - this.#calls
    this.#keepFree(calls)
    this.#isTakingSuspects = true
    try {
      const most = this.#breaker.isDoubtful ? 1 : calls * this.#sizes.suspects
      const found = await this.#deps.claims.claimSuspects(this.#verdictAt, Math.min(most, allowance.room))
      this.#hold(found.claims)
      this.#keepFree(Math.ceil(found.claims.length / this.#sizes.suspects))
      return found
    } finally {
      this.#isTakingSuspects = false
      this.#schedule()
    }
  }

  async #sendSuspects(claims: readonly Claim[]): Promise<void> {
    await this.#deps.pauses.use()
    const ready = this.#readyNow(claims)
    const size = this.#sizes.suspects
    const batches = Array.from({ length: Math.ceil(ready.length / size) }, (_, nth) =>
      ready.slice(nth * size, (nth + 1) * size),
    )
    const sending = batches.map((batch) => this.#send(batch))
    this.#keepFree(0)
    this.#schedule()
    await Promise.all(sending)
  }

  #keepFree(calls: number): void {
    this.#kept = { calls, until: this.#deps.now() + KEPT_FREE_MS }
  }

  async #refreshPauses(): Promise<void> {
    const { pauses } = this.#deps
    await pauses.refresh()
    // A provider that was resumed may have tasks that a look at the first due one does not show.
    this.#isExpected ||= pauses.current !== this.#pausesSeen
    this.#pausesSeen = pauses.current
  }

  readonly #onDatabaseError = (error: unknown): void => this.#deps.logger.warn({ error }, 'dispatch.database-failed')

  #hold(claims: readonly Claim[]): void {
    for (const claim of claims) this.#held.add(claim)
  }

  readonly #schedule = (): void => {
    if (this.#isScheduled) return
    this.#isScheduled = true
    // After the callbacks of this turn, so that tasks stored by one command are sent in one batch.
    setImmediate(() => {
      this.#isScheduled = false
      this.#pump()
    })
  }

  #pump(): void {
    if (!this.#isStarted || this.#isStopping || this.#waiting.length === 0) return
    const fresh = this.#deps.pauses.use()
    if (fresh !== null) return void fresh.then(this.#schedule)
    for (let room = this.#room; room > 0 && this.#waiting.length > 0; room = this.#room) {
      const batch = this.#readyNow(this.#waiting.splice(0, room))
      if (batch.length > 0) void this.#send(batch)
    }
  }

  get #room(): number {
    const { allowance, batchSize, concurrency } = this.#deps
    if (!this.isUp) {
      return this.#calls === 0 && !this.#isTakingSuspects && this.#breaker.allowsCall ? Math.min(1, allowance.room) : 0
    }
    if (this.#running.size - this.#calls >= concurrency * UNSETTLED_OF_A_LANE) return 0
    const isGentle = this.#moreDue && !this.#growth.outgrowsGentlePace
    // A call with one task mostly waits for its answer: half of the calls would only halve the rate of its handler.
    const lanes = isGentle && batchSize > 1 ? Math.ceil(concurrency / 2) : concurrency
    const kept = this.#deps.now() < this.#kept.until ? this.#kept.calls : 0
    if (this.#calls >= lanes - kept) return 0
    return Math.min(batchSize, allowance.room, isGentle ? GENTLE_BATCH : batchSize)
  }

  /** Those that may still be sent. The others are released: they are due again, and the search postpones those that are paused. */
  #readyNow(claims: readonly Claim[]): readonly Claim[] {
    const { pauses, databaseNow, callMs } = this.#deps
    const endsAfter = databaseNow() + callMs
    const isReady = (claim: Claim): boolean =>
      !(this.#isStopping || pauses.current.has(claim.provider) || claim.endsAt < endsAfter)
    const { true: ready = [], false: others = [] } = Object.groupBy(claims, (claim) => `${isReady(claim)}`)
    if (others.length > 0) void this.#release(others)
    return ready
  }

  #send(claims: readonly Claim[]): Promise<void> {
    this.#deps.allowance.used(claims.length)
    const sending = this.#call(claims).then(() => {
      this.#running.delete(sending)
      for (const claim of claims) this.#held.delete(claim)
      this.#growth.handled(claims.length)
      this.#schedule()
      this.#isExpected ||= claims.some(({ line }) => line !== undefined)
      if (this.#moreDue || this.#isExpected) this.#pollOnce().catch(this.#onDatabaseError)
    })
    this.#running.add(sending)
    return sending
  }

  async #call(claims: readonly Claim[]): Promise<void> {
    const isProbe = this.#breaker.isDoubtful
    this.#calls += 1
    const sent = await this.#deps.send(claims)
    this.#calls -= 1
    this.#schedule()
    const putOff = sent.failure?.putOff ?? []
    const settled = [...sent.settled, ...(isProbe ? putOff.map(clear) : putOff)]
    await Promise.all([this.#assess(sent), this.#settle(settled), this.#release(sent.late), this.#leaveUnread(sent)])
  }

  async #assess({ hasVerdict, failure }: Sent): Promise<void> {
    if (hasVerdict) this.#verdictAt = new Date(this.#deps.databaseNow())
    if (failure === null) {
      if (hasVerdict) this.#breaker.succeeded()
      return
    }
    const wasUp = this.isUp
    this.#breaker.failed()
    const { handler, logger } = this.#deps
    const { error } = failure
    if (wasUp && this.isUp) logger.warn({ error, handler, events: failure.putOff.length }, 'handler.call-failed')
    else if (wasUp) logger.warn({ error, handler }, 'handler.unreachable')
    if (!this.isUp) await this.#release(this.#waiting.splice(0))
  }

  /** Nothing counts for or against tasks that could not be read. They are due as soon as they are released. */
  async #leaveUnread({ unread }: Sent): Promise<void> {
    if (unread === null) return
    const { handler, logger } = this.#deps
    logger.warn({ error: unread.error, handler, events: unread.claims.length }, 'dispatch.database-failed')
    await sleep(UNREAD_PAUSE_MS)
    await this.#release(unread.claims)
  }

  async #settle(settled: readonly SettledClaim[]): Promise<void> {
    if (settled.length === 0) return
    const { onLost, onSettled } = this.#deps
    const lost = await settleRepeatedly(this.#deps, settled, () => !this.#isStopping)
    if (lost === null) return
    if (lost.size > 0) onLost(lost.size)
    for (const one of settled.filter((other) => !lost.has(other))) onSettled(one)
  }

  async #release(claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return
    for (const claim of claims) this.#held.delete(claim)
    try {
      await this.#deps.claims.release(claims)
      this.#isExpected = true
    } catch (error) {
      this.#deps.logger.warn({ error, events: claims.length }, 'event.release-failed')
    }
  }

  #pollOnce(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = null
    })
    return this.#polling
  }

  async #poll(): Promise<void> {
    // Tasks that were taken as the handler went down are the probe of its return: nothing else would send them.
    this.#schedule()
    if (this.#deps.allowance.isPaused) await this.#release(this.#waiting.splice(0))
    while (this.#mayClaim) {
      await this.#claimDue()
      if (!(this.#moreDue || this.#isExpected) || !this.isUp) return
    }
  }

  async #claimDue(): Promise<void> {
    const limit = this.isUp ? this.#sizes.mostHeld - this.#held.size : 1
    const isExpected = this.#isExpected
    this.#isExpected = false
    const claimed = await this.#deps.claims.claimDue(limit, isExpected)
    this.#moreDue = claimed.length === limit
    this.#hold(claimed)
    if (this.#isStopping) await this.#release(claimed)
    else this.#waiting.push(...claimed)
    this.#schedule()
    if (!this.#moreDue) this.#growth.ended()
  }

  get #mayClaim(): boolean {
    if (this.#isStopping || this.#deps.allowance.isPaused || !this.#breaker.allowsCall) return false
    if (!this.isUp) return this.#held.size === 0 && !this.#isTakingSuspects
    return this.#held.size + this.#sizes.leastClaimed <= this.#sizes.mostHeld
  }
}

/** Its call broke like the one before it. That may be an outage, and makes it no suspect. */
function clear({ claim, settlement, attempt }: SettledClaim): SettledClaim {
  const isSuspected = settlement.state === 'pending' && settlement.broke instanceof Date
  return { claim, settlement: isSuspected ? { ...settlement, broke: false } : settlement, attempt }
}
