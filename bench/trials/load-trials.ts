import type { Mix } from '../load/signed-deliveries.ts'
import { peakResidentMib } from '../measure/process-usage.ts'
import type { Receiver, StartReceiver } from '../receivers/receiver.ts'
import type { Outcome, Trial, TrialRun } from '../trial.ts'
import { type Drive, type Driven, loadAtRate, startDrive, warmUp } from './drive.ts'

/** The receiver that a trial measures. */
export interface TrialSubject {
  readonly name: string
  readonly title: string
  readonly start: StartReceiver
}

/** A closed load: the receiver, the mix of deliveries, and the number of connections if the effort's does not apply. */
interface ClosedTrial extends TrialSubject {
  readonly mix?: Mix
  readonly connections?: number
}

// Sign more than can be sent, so that time ends the load; but not many more, because signing takes seconds.
const HEADROOM = 2
const MOST_ON_ONE_CONNECTION = 2_000

/** Measures how many deliveries a second a receiver takes when each connection waits for its answer. */
export function createClosedTrial({ mix = 'unique', connections, ...subject }: ClosedTrial): Trial {
  return warmedTrial(subject, async ({ receiver, drive, warmRate, given: { run, effort } }) => {
    const rate = connections === undefined ? warmRate : Math.min(warmRate, connections * MOST_ON_ONE_CONNECTION)
    // Repetitions are cheaper than the deliveries of the warm-up.
    const headroom = mix === 'repeated' ? HEADROOM * 2 : HEADROOM
    const measured = await drive.load({
      orderPrefix: `${run}-`,
      count: Math.ceil(rate * (effort.measureMs / 1_000) * headroom),
      mix,
      plan: { kind: 'closed', connections: connections ?? effort.connections, forMs: effort.measureMs },
    })
    return await assess(drive, receiver, measured)
  })
}

/** Measures how long deliveries wait for their answers when they come at fixed instants. */
export function createOpenTrial({ perSecond, ...subject }: TrialSubject & { readonly perSecond: number }): Trial {
  return warmedTrial(subject, async ({ receiver, drive, given }) =>
    assess(drive, receiver, await loadAtRate(drive, given, perSecond)),
  )
}

/** Measures how long events take from their arrival until they are settled, when they come at fixed instants. */
export function createWholeWayTrial({ perSecond, ...subject }: TrialSubject & { readonly perSecond: number }): Trial {
  return warmedTrial(subject, async ({ receiver, drive, given }) => {
    const measured = await loadAtRate(drive, given, perSecond)
    const outcome = await assess(drive, receiver, measured)
    const ways = (await receiver.wholeWayMs?.(measured.report.acknowledged)) ?? []
    return { ...outcome, figures: { ...outcome.figures, p50Ms: quantile(ways, 0.5), p99Ms: quantile(ways, 0.99) } }
  })
}

/** The smallest value that this part of the values does not exceed; NaN if there are none. */
function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}

/** A receiver that has been warmed up. */
interface Warmed {
  readonly receiver: Receiver
  readonly drive: Drive
  /** Deliveries per second during the warm-up. */
  readonly warmRate: number
  readonly given: TrialRun
}

function warmedTrial({ name, title, start }: TrialSubject, measure: (warmed: Warmed) => Promise<Outcome>): Trial {
  return {
    name,
    title,
    async run(given) {
      const { setup, run, signal } = given
      await using receiver = await start(setup, run)
      using drive = await startDrive({ setup, receiver, signal })
      const warmRate = await warmUp(drive, given)
      return await measure({ receiver, drive, warmRate, given })
    },
  }
}

/** The outcome of a trial's measured load. Lost events are counted over every load of the drive. */
async function assess(drive: Drive, receiver: Receiver, { report, seconds, usage }: Driven): Promise<Outcome> {
  const peakMib = peakResidentMib(receiver.receiverPid)
  const keptIds = await receiver.keptOf(report.acknowledged)
  const kept = report.acknowledged.filter((id) => keptIds.has(id)).length
  const each = (ms = 0): number => (ms * 1_000) / kept
  const { receiver: receiverMs, mongod, sender, fulfilment } = usage.processes
  return {
    figures: {
      perSecond: kept / seconds,
      p50Ms: report.latency.p50,
      p99Ms: report.latency.p99,
      receiverUs: each(receiverMs),
      mongodUs: each(mongod),
      senderUs: each(sender),
      ...(fulfilment === undefined ? {} : { fulfilmentUs: each(fulfilment) }),
      peakMib,
    },
    lost: await drive.countLost(),
    failed: report.failed,
    foreignShare: usage.foreignShare,
  }
}
