import type { LoadPlan, LoadReport } from '../load/load.ts'
import { startSender } from '../load/sender.ts'
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

/** A receiver under load, and everything that it has acknowledged. */
export interface Drive extends Disposable {
  /** Creates the orders of a load, signs its deliveries and sends them. The clock runs from the first delivery on. */
  load(load: Load): Promise<Driven>
  /** The number of events that were acknowledged so far but are not kept. */
  countLost(): Promise<number>
}

/** The parts of a drive. */
interface DriveParts {
  readonly setup: Setup
  readonly receiver: Receiver
  readonly signal: AbortSignal
  /** Other processes of this benchmark that run meanwhile. Their time does not count as foreign. */
  readonly others?: Readonly<Record<string, number>>
}

/** Starts a sender for a receiver. */
export async function startDrive({ setup, receiver, signal, others }: DriveParts): Promise<Drive> {
  const sender = await startSender(signal)
  const acknowledged = new Set<string>()
  const { url, receiverPid } = receiver
  return {
    async load({ orderPrefix, count, mix = 'unique', plan }) {
      await receiver.prepare?.(orderPrefix, count)
      await sender.sign({ url, secret: setup.secret, count, mix, orderPrefix })
      const ours = { receiver: receiverPid, mongod: setup.mongodPid, sender: sender.pid, benchmark: process.pid }
      const { fulfilmentPid } = receiver
      const fulfilment = fulfilmentPid === undefined ? {} : { fulfilment: fulfilmentPid }
      const meter = startMeter({ ...others, ...ours, ...fulfilment })
      const report = await sender.send(plan)
      await receiver.settled?.()
      const endedAt = receiver.settled === undefined ? report.endedAt : Date.now()
      for (const id of report.acknowledged) acknowledged.add(id)
      return { report, seconds: (endedAt - report.beganAt) / 1_000, usage: meter() }
    },
    countLost: async () => acknowledged.size - (await receiver.keptOf([...acknowledged])).size,
    [Symbol.dispose]: () => sender[Symbol.dispose](),
  }
}

/** Sends deliveries at fixed instants, for as long as a measurement lasts. `name` tells the loads of a trial apart. */
export function loadAtRate(drive: Drive, { run, effort }: TrialRun, perSecond: number, name = ''): Promise<Driven> {
  const count = Math.ceil(perSecond * (effort.measureMs / 1_000))
  const plan = { kind: 'open', connections: effort.connections, perSecond } as const
  return drive.load({ orderPrefix: `${run}-${name}`, count, plan })
}

const WARM_UP_DELIVERIES = 12_000

/** Warms up a receiver on many connections, and returns how many deliveries per second it accepted. */
export async function warmUp(drive: Drive, { run, effort }: TrialRun): Promise<number> {
  const plan = { kind: 'closed', connections: effort.connections, forMs: effort.warmUpMs } as const
  const { report, seconds } = await drive.load({ orderPrefix: `${run}-warm-`, count: WARM_UP_DELIVERIES, plan })
  return report.acknowledged.length / seconds
}
