import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { ShownMetrics } from '@oncehook/kernel/http/server/probes'
import type { Logger } from '@oncehook/kernel/log/logger'
import { EXIT_CONFIG, EXIT_RESTART, SettingsError } from '@oncehook/kernel/settings/settings'
import { STOP_SIGNALS } from '@oncehook/kernel/time/stop-signals'
import { type Backoff, backoffMs, TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { AggregatorRegistry, type Registry } from 'prom-client'

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

interface Question {
  readonly allMetrics: number
}

interface Answer extends Question {
  /** Null if they could not be gathered. */
  readonly text: string | null
}

// The supervisor waits up to five seconds for a stuck worker.
const GATHERED_WITHIN_MS = 7_000

/** In the supervisor: answers a worker's request for the metrics of all workers. */
function answerMetrics(worker: Worker, all: { clusterMetrics(): Promise<string> }): void {
  worker.on('message', async (message: unknown) => {
    if (!isAboutMetrics(message)) return
    const text = await all.clusterMetrics().catch(() => null)
    if (worker.isConnected()) worker.send({ ...message, text } satisfies Answer)
  })
}

/** In a worker: adds its metrics to those of all workers. Each worker can then show the metrics of all. */
export function shareMetrics(registry: Registry, channel: NodeJS.Process): ShownMetrics {
  AggregatorRegistry.setRegistries([registry])
  new AggregatorRegistry() // answers the supervisor from now on
  const open = new Map<number, (text: string | null) => void>()
  let asked = 0
  channel.on('message', (message: unknown) => {
    if (!isAboutMetrics(message)) return
    open.get(message.allMetrics)?.((message as Answer).text)
  })
  return {
    contentType: registry.contentType,
    async metrics() {
      const { promise, resolve } = Promise.withResolvers<string | null>()
      asked += 1
      const asking = asked
      open.set(asking, resolve)
      channel.send?.({ allMetrics: asking } satisfies Question)
      const text = await withTimeout(promise, GATHERED_WITHIN_MS)
      open.delete(asking)
      if (text === TIMED_OUT || text === null) throw new Error('The metrics of all workers could not be gathered')
      return text
    },
  }
}

function isAboutMetrics(message: unknown): message is Question {
  return typeof message === 'object' && message !== null && 'allMetrics' in message
}

/** The message that a worker sends to its supervisor after it has started. */
export const STARTED = 'started'
