import type { Surroundings } from './measure/quiet-rounds.ts'
import type { Setup } from './receivers/receiver.ts'

/** How much is done in each trial. Times are milliseconds. */
export interface Effort {
  /** Connections of a load, unless the trial sets another number. */
  readonly connections: number
  readonly warmUpMs: number
  readonly measureMs: number
  /** The number of accepts after which the gateway's memory and rate are measured. */
  readonly accepts: number
  /** The number of events that wait while fulfilment is away. */
  readonly backlog: number
}

/** What a trial works with. */
export interface TrialRun {
  readonly setup: Setup
  /** Unique in this run of the benchmark: part of the names of databases and orders. */
  readonly run: string
  readonly effort: Effort
  readonly signal: AbortSignal
}

/** The figures that trials take; each trial takes some of them. */
export interface Figures {
  /** Events per second that were acknowledged and are kept (with their effect, if that is promised). */
  readonly perSecond?: number
  /** Events per second while few were stored. `perSecond` is then the rate when very many are. */
  readonly firstPerSecond?: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  /** p99 before a disturbance. `p99Ms` is then the p99 during it. */
  readonly calmP99Ms?: number
  /** From the start of the process to its first 200. */
  readonly startMs?: number
  /** Processor time for each event in microseconds, of all threads of the process. */
  readonly receiverUs?: number
  readonly fulfilmentUs?: number
  readonly mongodUs?: number
  readonly senderUs?: number
  /** Resident memory of the receiver in MiB: at the end of the load, and the most so far. */
  readonly residentMib?: number
  readonly peakMib?: number
}

/** The result of a trial. */
export interface Outcome {
  readonly figures: Figures
  /** Events of all loads that were acknowledged but not found afterwards. Each one is a broken promise. */
  readonly lost: number
  /** Deliveries that were not answered 200, by status or by what happened instead. */
  readonly failed: Readonly<Record<string, number>>
  readonly foreignShare: number
}

/** One thing that each round measures once. */
export interface Trial {
  /** The name under which its results are stored. */
  readonly name: string
  readonly title: string
  run(given: TrialRun): Promise<Outcome>
}

/** One trial in one round. */
export interface Measurement extends Outcome, Surroundings {
  readonly trial: string
}
