import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import type { Claims } from '../inbox/claims/claims.ts'

/** Dependencies of a heartbeat. Times are in milliseconds. */
export interface HeartbeatDeps {
  readonly claims: Pick<Claims, 'beat' | 'leave'>
  readonly leaseMs: number
  readonly random: () => number
  /** Milliseconds that never go backwards. */
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

// Late enough for three beats during a lease, and early enough for the third to come before the lease ends.
const DUE_AFTER_LEASES = 0.3
const LOOKS_PER_LEASE = 30
const LOOK_MS = 1_000

/**
 * The lease of this process, which covers all that it holds. Three times during a lease it writes that the process is
 * alive. A beat that fails is repeated within a second, so that after an outage nobody takes over what the process holds.
 */
export class Heartbeat {
  readonly #deps: HeartbeatDeps
  readonly #first = Promise.withResolvers<void>()
  #beatAt = Number.NEGATIVE_INFINITY
  #timer: { stop(): Promise<void> } | null = null

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps
  }

  /** Whether the lease of this process runs: a beat was stored less than a lease ago. */
  get isAlive(): boolean {
    return this.#deps.now() - this.#beatAt < this.#deps.leaseMs
  }

  /** Starts to beat, unless it has started. Resolves when the first beat is durable. */
  start(): Promise<void> {
    const { leaseMs, random, onError } = this.#deps
    const everyMs = Math.min(LOOK_MS, leaseMs / LOOKS_PER_LEASE)
    this.#timer ??= runPeriodically({ task: () => this.#beatIfDue(), everyMs, random, onError })
    return this.#first.promise
  }

  /** Beats no more. What the process holds stays its own until the lease ends. */
  async stop(): Promise<void> {
    await this.#timer?.stop()
  }

  /** Ends the lease at once, if there is one. Never throws: without this it ends a little later. */
  async end(): Promise<void> {
    if (!this.isAlive) return
    this.#beatAt = Number.NEGATIVE_INFINITY
    await this.#deps.claims.leave().catch(this.#deps.onError)
  }

  async #beatIfDue(): Promise<void> {
    const { claims, leaseMs, now } = this.#deps
    const sentAt = now()
    if (sentAt - this.#beatAt < leaseMs * DUE_AFTER_LEASES) return
    await claims.beat()
    this.#beatAt = sentAt
    this.#first.resolve()
  }
}
