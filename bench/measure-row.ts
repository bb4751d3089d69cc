import type { LatencySummary } from './load/load-report.ts'
import { type Sender, startSender } from './load/sender.ts'
import { calibrate } from './measure/calibrate.ts'
import { startMeter } from './measure/meter.ts'
import { peakResidentMib } from './measure/process-usage.ts'
import type { Surroundings } from './measure/quiet-rounds.ts'
import type { Row, RowName } from './rows.ts'
import type { Laboratory, Subject } from './subjects/subject.ts'

/** How long each row is driven, and by how many connections at once. */
export interface Effort {
  readonly connections: number
  readonly warmUpMs: number
  readonly measureMs: number
}

/** One row in one round. */
export interface Measurement extends Surroundings {
  readonly row: RowName
  readonly acceptsPerSecond: number
  /** Acknowledged and found kept afterwards; only these count. */
  readonly kept: number
  /** Acknowledged and not found: each one is a broken promise. */
  readonly lost: number
  /** Deliveries that were not answered 200, by status or by what happened instead. */
  readonly failed: Readonly<Record<string, number>>
  readonly latency: LatencySummary
  /** Processor time for each accept, in microseconds, of each process by itself. */
  readonly processorUs: {
    readonly receiver: number
    readonly fulfilment: number | null
    readonly mongod: number
    readonly sender: number
  }
  /** The most memory that the receiver had resident. */
  readonly residentMib: number
}

/** What a measurement works with. */
export interface RowRun {
  readonly laboratory: Laboratory
  readonly row: Row
  /** Unique in this run of the benchmark: part of the names of databases and orders. */
  readonly run: string
  readonly effort: Effort
  readonly signal: AbortSignal
}

const WARM_UP_DELIVERIES = 16_000
// More than can be sent in the time, so that time ends the load: signing them all costs seconds.
const HEADROOM = 2

/** Starts the subject, warms it up, measures it, looks which ids it kept, and removes every trace of it. */
export async function measureRow(given: RowRun): Promise<Measurement> {
  const { laboratory, row, run, effort } = given
  const calibration = await calibrate(laboratory.folder)
  await using subject = await row.start(laboratory, run)
  using sender = await startSender(given.signal)
  const drive = { ...given, subject, sender }
  const warmUp = { orderPrefix: `${run}-warm-`, count: WARM_UP_DELIVERIES, forMs: effort.warmUpMs }
  const warm = await runLoad(drive, warmUp)
  const count = Math.ceil((warm.report.acknowledged.length / warm.seconds) * (effort.measureMs / 1_000) * HEADROOM)
  const measured = await runLoad(drive, { orderPrefix: `${run}-`, count, forMs: effort.measureMs })
  return { row: row.name, calibration, ...(await evaluate(subject, measured)) }
}

interface Drive extends RowRun {
  readonly subject: Subject
  readonly sender: Sender
}

interface Load {
  readonly orderPrefix: string
  readonly count: number
  readonly forMs: number
}

type Loaded = Awaited<ReturnType<typeof runLoad>>

async function runLoad({ laboratory, subject, sender, effort }: Drive, { orderPrefix, count, forMs }: Load) {
  await subject.prepare?.(orderPrefix, count)
  await sender.sign({ url: subject.url, secret: laboratory.secret, count, orderPrefix })
  const meter = startMeter({
    receiver: subject.receiverPid,
    mongod: laboratory.mongodPid,
    sender: sender.pid,
    benchmark: process.pid,
    ...(subject.fulfilmentPid === undefined ? {} : { fulfilment: subject.fulfilmentPid }),
  })
  const report = await sender.send({ kind: 'closed', connections: effort.connections, forMs })
  await subject.settled?.()
  const endedAt = subject.settled === undefined ? report.endedAt : Date.now()
  return { report, seconds: (endedAt - report.beganAt) / 1_000, usage: meter() }
}

async function evaluate(subject: Subject, { report, seconds, usage }: Loaded) {
  const residentMib = peakResidentMib(subject.receiverPid)
  const keptIds = await subject.keptIds()
  const kept = report.acknowledged.filter((id) => keptIds.has(id)).length
  const each = (ms = 0): number => (ms * 1_000) / kept
  const { receiver, mongod, sender, fulfilment } = usage.processes
  return {
    acceptsPerSecond: kept / seconds,
    kept,
    lost: report.acknowledged.length - kept,
    failed: report.failed,
    latency: report.latency,
    processorUs: {
      receiver: each(receiver),
      mongod: each(mongod),
      sender: each(sender),
      fulfilment: fulfilment === undefined ? null : each(fulfilment),
    },
    residentMib,
    foreignShare: usage.foreignShare,
  }
}
