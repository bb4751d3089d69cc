import type { Logger } from '../log/logger.ts'
import { nameAsSet } from '../settings/name-as-set.ts'
import { EXIT_CONFIG, SettingsError } from '../settings/settings.ts'
import { leaveSignals, STOP_SIGNALS } from './stop-signals.ts'
import { TIMED_OUT, withTimeout } from './waits.ts'

/** A stage of the shutdown: its name in the log, its action and its time limit. */
export interface StopStage {
  readonly name: string
  readonly stop: () => Promise<void> | void
  /** Milliseconds after which the next stage starts anyway. */
  readonly withinMs: number
}

/** Supervisors kill a process after 10 s. Exiting earlier keeps the log and the exit code meaningful. */
const WHOLE_STOP_MS = 9_500

/**
 * Shutdown of a process. Stages added during start run in reverse order at a stop signal. Each has a time limit, and
 * `wholeStopMs` limits all of them together. Then the process exits with 0. A failed or late stage is logged and
 * changes the exit code to 1; later stages still run. Own code, because `@godaddy/terminus` has one time limit for all stages,
 * and stops HTTP servers only.
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

  /** Whether a shutdown has begun. Anything started after this point would not be stopped. */
  get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  /** Runs all stages once, even if called repeatedly. Resolves to whether every stage succeeded in time. */
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
    const ended = await withTimeout(Promise.resolve(stage.stop()), withinMs)
    return ended === TIMED_OUT ? { error: new Error('The stage timed out') } : 'stopped'
  } catch (error) {
    return { error }
  }
}

export interface ServiceProcess {
  readonly env: NodeJS.ProcessEnv
  readonly logger: Logger
  /** Starts the service and adds a shutdown stage for each part it starts. */
  readonly start: (lifecycle: Lifecycle) => Promise<void>
}

/**
 * Runs a service in this process until SIGTERM, SIGINT or SIGHUP stops it, including during start. Exit codes: 0
 * after an orderly shutdown, 78 if an operator must fix something, 1 otherwise. An uncaught error is logged and ends
 * the process, because start-up performs recovery. A second signal has no effect: signalling both a process group and
 * its members sends two, and every stage has a time limit.
 */
export async function runService({ env, logger, start }: ServiceProcess): Promise<void> {
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
    if (error instanceof SettingsError) refuseToStart(error, env)
    logger.fatal({ error }, 'service.start-failed')
    process.exit(1)
  }
}

/** Prints each problem on a line of standard error and exits with the status for invalid settings. */
export function refuseToStart(error: SettingsError, env: NodeJS.ProcessEnv): never {
  for (const problem of error.problems) process.stderr.write(`oncehook: ${nameAsSet(problem, env)}\n`)
  process.exit(EXIT_CONFIG)
}
