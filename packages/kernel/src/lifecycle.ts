import type { Logger } from './logger.ts'
import { EXIT_CONFIG, SettingsError } from './settings.ts'
import { leaveSignals, STOP_SIGNALS } from './stop-signals.ts'
import { LATE, within } from './within.ts'

/** A step of the orderly stop: what it is called in the log, what it does, how long it may take. */
export interface StopStage {
  readonly name: string
  readonly stop: () => Promise<void> | void
  /** Milliseconds after which the next stage begins all the same. */
  readonly withinMs: number
}

/** Supervisors give a process 10 s, and then kill it: an end of our own tells more. */
const WHOLE_STOP_MS = 9_500

/**
 * The end of a process: stages added while it starts run in reverse order at a stop signal, each bounded in time and
 * all together in `wholeStopMs`, then the process exits with 0. A stage that fails or is late is logged and makes the
 * exit code 1; the later ones are begun all the same.
 */
export class Lifecycle {
  readonly #logger: Logger
  readonly #wholeStopMs: number
  readonly #stages: StopStage[] = []
  #stopping: Promise<boolean> | undefined

  constructor(logger: Logger, wholeStopMs: number = WHOLE_STOP_MS) {
    this.#logger = logger
    this.#wholeStopMs = wholeStopMs
  }

  /** Adds a stage that runs before all stages added earlier. */
  onStop(stage: StopStage): void {
    this.#stages.push(stage)
  }

  /** Whether a stop has begun: what is started from then on would not be stopped. */
  get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  /** Runs all stages once, however often it is asked. Resolves to whether each ended well and in time. */
  stop(): Promise<boolean> {
    this.#stopping ??= this.#runStages()
    return this.#stopping
  }

  async #runStages(): Promise<boolean> {
    let clean = true
    const endsAt = performance.now() + this.#wholeStopMs
    for (const stage of this.#stages.reverse()) {
      const startedAt = performance.now()
      const outcome = await bounded(stage, Math.max(0, Math.min(stage.withinMs, endsAt - startedAt)))
      const ms = Math.round(performance.now() - startedAt)
      if (outcome === 'stopped') this.#logger.info({ stage: stage.name, ms }, 'service.stage-stopped')
      else this.#logger.error({ stage: stage.name, ms, ...outcome }, 'service.stage-failed')
      clean &&= outcome === 'stopped'
    }
    return clean
  }
}

async function bounded(stage: StopStage, withinMs: number): Promise<'stopped' | { error: unknown }> {
  try {
    const ended = await within(Promise.resolve(stage.stop()), withinMs)
    return ended === LATE ? { error: new Error('The stage took too long') } : 'stopped'
  } catch (error) {
    return { error }
  }
}

/** What `runService` works with. */
export interface ServiceProcess {
  readonly logger: Logger
  /** Starts everything and adds a stop stage for each part that it started. */
  readonly start: (lifecycle: Lifecycle) => Promise<void>
}

/**
 * Runs a service as this process until SIGTERM, SIGINT or SIGHUP stops it, also while it starts. Exit codes: 0 stopped in order, 78 a person must put
 * something right, 1 anything else. An error that nobody caught is logged and ends the process: start-up is recovery.
 * A second signal changes nothing: who signals a process group and its members signals twice, and every stage is bounded.
 */
export async function runService({ logger, start }: ServiceProcess): Promise<void> {
  const lifecycle = new Lifecycle(logger)
  let stopping = false
  const end = (signal: string): void => {
    if (stopping) return
    stopping = true
    logger.info({ signal }, 'service.stopping')
    void lifecycle.stop().then((clean) => {
      logger.info({ clean }, 'service.stopped')
      process.exit(clean ? 0 : 1)
    })
  }
  for (const signal of STOP_SIGNALS) process.on(signal, end)
  leaveSignals(process)
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      logger.fatal({ error, event }, 'service.crashed')
      process.exit(1)
    })
  }
  try {
    await start(lifecycle)
  } catch (error) {
    await lifecycle.stop()
    if (error instanceof SettingsError) refuseToStart(error)
    logger.fatal({ error }, 'service.start-failed')
    process.exit(1)
  }
}

/** Prints each problem on a line of standard error and ends the process with the status for wrong settings. */
export function refuseToStart(error: SettingsError): never {
  for (const problem of error.problems) process.stderr.write(`oncehook: ${problem}\n`)
  process.exit(EXIT_CONFIG)
}
