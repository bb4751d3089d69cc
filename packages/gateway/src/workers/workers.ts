import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { type Backoff, backoffMs } from '@oncehook/kernel/backoff'
import type { Logger } from '@oncehook/kernel/logger'
import { EXIT_CONFIG, SettingsError } from '@oncehook/kernel/settings'
import { STOP_SIGNALS } from '@oncehook/kernel/stop-signals'
import { AggregatorRegistry } from 'prom-client'
import { answerMetrics } from './metrics-of-workers.ts'
import { STARTED } from './started.ts'

/** What the supervisor of workers works with. */
export interface WorkersDeps {
  readonly count: number
  readonly logger: Logger
  readonly random: () => number
}

const REPLACEMENT: Backoff = { baseMs: 500, capMs: 10_000 }
const LONG_LIFE_MS = 10_000
// A worker that has only just been forked does not listen for them yet: they end it before it has begun anything.
const TOLD_TO_STOP: ReadonlySet<string | null> = new Set(STOP_SIGNALS)

/**
 * Several gateways behind the same ports, each a process of its own; this one only supervises. Any of them may be killed
 * at any instant: it is replaced, and what it held is taken over as from any dead process.
 */
export class Workers {
  readonly #deps: WorkersDeps
  readonly #living = new Set<Worker>()
  readonly #waiting = new Set<NodeJS.Timeout>()
  readonly #metrics = new AggregatorRegistry()
  #stopping = false
  #started = false
  #endedBadly = false

  constructor(deps: WorkersDeps) {
    this.#deps = deps
    // The kernel hands out connections: one that this process were to pass on would hang when its worker dies just then.
    cluster.schedulingPolicy = cluster.SCHED_NONE
  }

  /**
   * Starts one worker, and the others as soon as it has started: what a person must put right is said once, and one
   * makes the indexes for all.
   * @throws SettingsError without a problem of its own, for the worker has told it
   */
  async start(): Promise<void> {
    await this.#startFirst()
    this.#started = true
    for (let more = 1; more < this.#deps.count && !this.#stopping; more += 1) this.#keepAlive(0)
  }

  /** Stops all workers in order. Throws when one of them ended badly. */
  async stop(): Promise<void> {
    this.#stopping = true
    for (const timer of this.#waiting) clearTimeout(timer)
    const ended = [...this.#living].map((worker) => once(worker, 'exit'))
    for (const { process } of this.#living) process.kill('SIGTERM')
    await Promise.all(ended)
    if (this.#endedBadly) throw new Error('A worker did not stop in order')
  }

  /** Resolves when the first worker has started, or when there is to be none any more. */
  async #startFirst(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const worker = this.#keepAlive(0)
    worker.on('message', (message: unknown) => {
      if (message === STARTED) resolve()
    })
    worker.once('exit', (code) => {
      if (code === EXIT_CONFIG) reject(new SettingsError([]))
      else resolve()
    })
    await promise
  }

  /** Starts a worker and, when it dies, another one in its place. `deaths` is how many died young before it. */
  #keepAlive(deaths: number): Worker {
    const worker = cluster.fork()
    answerMetrics(worker, this.#metrics)
    const bornAt = performance.now()
    this.#living.add(worker)
    worker.once('exit', (code, signal) => {
      this.#living.delete(worker)
      if (this.#stopping) this.#endedBadly ||= code !== 0 && !TOLD_TO_STOP.has(signal)
      else if (code !== EXIT_CONFIG || this.#started) {
        this.#deps.logger.error({ worker: worker.process.pid, code, signal }, 'worker.died')
        this.#replace(performance.now() - bornAt > LONG_LIFE_MS ? 0 : deaths)
      }
    })
    this.#deps.logger.info({ worker: worker.process.pid }, 'worker.started')
    return worker
  }

  #replace(deaths: number): void {
    const timer = setTimeout(
      () => {
        this.#waiting.delete(timer)
        this.#keepAlive(deaths + 1)
      },
      backoffMs(REPLACEMENT, deaths, this.#deps.random),
    )
    this.#waiting.add(timer)
  }
}
