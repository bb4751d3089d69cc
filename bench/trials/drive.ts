import type { LoadPlan, LoadReport } from '../load/load-report.ts'
import { type Sender, startSender } from '../load/sender.ts'
import type { Mix } from '../load/signed-deliveries.ts'
import { startMeter, type Usage } from '../measure/meter.ts'
import type { Receiver, Setup } from '../receivers/receiver.ts'
import type { TrialRun } from '../trial.ts'

/** The deliveries to send to a receiver, and how to send them. */
interface Load {
  readonly orderPrefix: string
  readonly count: number
  readonly mix?: Mix
  readonly plan: LoadPlan
}

/** The result of a load, and its cost. */
export interface Driven {
  readonly report: LoadReport
  /** From the first delivery to the last answer or, if effects are promised, until every event has had its effect. */
  readonly seconds: number
  readonly usage: Usage
}

/** A load that is signed and ready to send. */
interface ReadyLoad {
  /** Sends it; the clock and the meter run from the first delivery on. */
  send(): Promise<Driven>
  /** Ends an open load early: deliveries that fall due from now on are left out. */
  cut(): void
}

/** A receiver under load, and everything that it has acknowledged. */
export interface Drive extends Disposable {
  /** Creates the orders of a load and signs its deliveries. */
  ready(load: Load): Promise<ReadyLoad>
  /** Prepares a load and sends it. */
  load(load: Load): Promise<Driven>
  /** The number of events that were acknowledged so far but are not kept. */
  countLost(): Promise<number>
}

/** The parts of a drive. */
export interface DriveParts {
  readonly setup: Setup
  readonly receiver: Receiver
  readonly signal: AbortSignal
  /** Other processes of this benchmark that run meanwhile. Their time does not count as foreign. */
  readonly others?: Readonly<Record<string, number>>
}

/** Starts a sender for a receiver. */
export async function startDrive(parts: DriveParts): Promise<Drive> {
  const sender = await startSender(parts.signal)
  const acknowledged: string[] = []
  const ready = async (load: Load): Promise<ReadyLoad> => {
    await prepare(parts, sender, load)
    return {
      async send() {
        const driven = await send(parts, sender, load.plan)
        for (const id of driven.report.acknowledged) acknowledged.push(id)
        return driven
      },
      cut: () => sender.cut(),
    }
  }
  return {
    ready,
    load: async (load) => (await ready(load)).send(),
    async countLost() {
      const unique = new Set(acknowledged)
      return unique.size - (await parts.receiver.keptOf([...unique])).size
    },
    [Symbol.dispose]: () => sender[Symbol.dispose](),
  }
}

async function prepare({ setup, receiver }: DriveParts, sender: Sender, load: Load): Promise<void> {
  const { orderPrefix, count, mix = 'unique' } = load
  await receiver.prepare?.(orderPrefix, count)
  await sender.sign({ url: receiver.url, secret: setup.secret, count, mix, orderPrefix })
}

async function send({ setup, receiver, others }: DriveParts, sender: Sender, plan: LoadPlan): Promise<Driven> {
  const meter = startMeter({
    ...others,
    receiver: receiver.receiverPid,
    mongod: setup.mongodPid,
    sender: sender.pid,
    benchmark: process.pid,
    ...(receiver.fulfilmentPid === undefined ? {} : { fulfilment: receiver.fulfilmentPid }),
  })
  const report = await sender.send(plan)
  await receiver.settled?.()
  const endedAt = receiver.settled === undefined ? report.endedAt : Date.now()
  return { report, seconds: (endedAt - report.beganAt) / 1_000, usage: meter() }
}

const WARM_UP_DELIVERIES = 12_000

/** Warms up a receiver on many connections, and returns how many deliveries per second it accepted. */
export async function warmUp(drive: Drive, { run, effort }: TrialRun): Promise<number> {
  const plan = { kind: 'closed', connections: effort.connections, forMs: effort.warmUpMs } as const
  const { report, seconds } = await drive.load({ orderPrefix: `${run}-warm-`, count: WARM_UP_DELIVERIES, plan })
  return report.acknowledged.length / seconds
}
