import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Logger } from '@oncehook/kernel/log/logger'
import { EXIT_CONFIG, EXIT_RESTART, SettingsError } from '@oncehook/kernel/settings/settings'
import { STOP_SIGNALS } from '@oncehook/kernel/time/stop-signals'
import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'
import { AggregatorRegistry } from 'prom-client'
import { answerMetrics } from './metrics-of-workers.ts'
import { STARTED } from './started.ts'

/** The dependencies of the supervisor. */
export interface WorkersDeps {
  readonly count: number
  readonly logger: Logger
  readonly random: () => number
}

const REPLACEMENT: Backoff = { baseMs: 500, capMs: 10_000 }
const LONG_LIFE_MS = 10_000
// A newly forked worker does not handle these signals yet, so they kill it before it has begun any work.
const TOLD_TO_STOP: ReadonlySet<string | null> = new Set(STOP_SIGNALS)

/**
 * Runs several gateways on the same ports, each in a separate process. This process only supervises them. A worker may be
 * killed at any time: it is replaced, and its claims are reclaimed like those of any dead process.
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
    // The kernel distributes connections. If this process did, a connection would hang if its worker died at that moment.
    cluster.schedulingPolicy = cluster.SCHED_NONE
  }

  /**
   * Starts one worker, and the others as soon as it has started. A configuration error is then reported only once, and one
   * worker creates the indexes for all.
   * @throws SettingsError without problems, because the worker has already reported them
   */
  async start(): Promise<void> {
    await this.#startFirst()
    this.#started = true
    for (let more = 1; more < this.#deps.count && !this.#stopping; more += 1) this.#keepAlive(0)
  }

  /** Stops all workers gracefully. Throws if a worker did not exit cleanly. */
  async stop(): Promise<void> {
    this.#stopping = true
    for (const timer of this.#waiting) clearTimeout(timer)
    const ended = [...this.#living].map((worker) => once(worker, 'exit'))
    for (const { process } of this.#living) process.kill('SIGTERM')
    await Promise.all(ended)
    if (this.#endedBadly) throw new Error('A worker did not stop cleanly')
  }

  /** Resolves when the first worker has started or has exited; rejects if its settings are invalid. */
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

  /** Starts a worker, and replaces it when it dies. `deaths` is the number of earlier workers that died young. */
  #keepAlive(deaths: number): Worker {
    const worker = cluster.fork()
    answerMetrics(worker, this.#metrics)
    const bornAt = performance.now()
    this.#living.add(worker)
    worker.once('exit', (code, signal) => {
      this.#living.delete(worker)
      if (this.#stopping) this.#endedBadly ||= code !== 0 && !TOLD_TO_STOP.has(signal)
      else if (code === EXIT_RESTART) void this.#end()
      else if (code !== EXIT_CONFIG || this.#started) {
        this.#deps.logger.error({ worker: worker.process.pid, code, signal }, 'worker.died')
        this.#replace(performance.now() - bornAt > LONG_LIFE_MS ? 0 : deaths)
      }
    })
    this.#deps.logger.info({ worker: worker.process.pid }, 'worker.started')
    return worker
  }

  /** Ends this process with 75, as a worker has. A new worker would inherit the same environment, so only a new start helps. */
  async #end(): Promise<void> {
    await this.stop().catch(() => undefined)
    process.exit(EXIT_RESTART)
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
