import { setTimeout as sleep } from 'node:timers/promises'
import { EVENTS, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import { type Collection, ObjectId } from 'mongodb'
import { type Interrupted, startInterrupted } from '../receivers/oncehook/oncehook-interrupted.ts'
import { waitUntilSettled } from '../receivers/oncehook/wait-until-settled.ts'
import type { Trial, TrialRun } from '../trial.ts'
import { type Drive, startDrive } from './drive.ts'

const POLL_MS = 50
const BACKLOG_FOR_MS = 120_000
const LONGEST_MS = 60_000
const GRACE_MS = 15_000
// The last events were tried while fulfilment was unavailable, and still wait for their next attempt.
const CAUGHT_UP = 0.99

/**
 * Lets events wait while fulfilment is unavailable and starts it again while deliveries continue. Measures how many
 * events per second are settled until 99 of 100 are, and how long deliveries wait before the restart and after it.
 */
export function createCatchUpTrial({ name, title, perSecond }: CatchUpTrial): Trial {
  return {
    name,
    title,
    async run(given) {
      const { setup, run, effort, signal } = given
      await using receiver = await startInterrupted(setup, run)
      using drive = await startDrive({ setup, receiver, signal })
      const boundary = await fillBacklog(drive, given)
      const open = { kind: 'open', connections: effort.connections, perSecond, graceMs: GRACE_MS } as const
      const beforeCount = Math.ceil((perSecond * effort.measureMs) / 1_000)
      const before = await drive.load({ orderPrefix: `${run}-before-`, count: beforeCount, plan: open })
      const meanwhileCount = Math.ceil((perSecond * LONGEST_MS) / 1_000)
      const meanwhile = await drive.ready({ orderPrefix: `${run}-meanwhile-`, count: meanwhileCount, plan: open })
      await receiver.restore()
      await untilFirstSettled(receiver)
      const driving = meanwhile.send()
      await untilCaughtUp(receiver, boundary, effort.backlog)
      meanwhile.cut()
      const driven = await driving
      await waitUntilSettled(receiver.gatewayDb)
      return {
        figures: {
          perSecond: await rateOf(eventsOf(receiver)),
          calmP99Ms: before.report.latency.p99,
          p99Ms: driven.report.latency.p99,
        },
        lost: await drive.countLost(),
        failed: driven.report.failed,
        foreignShare: driven.usage.foreignShare,
      }
    },
  }
}

/** A trial, and the rate at which deliveries arrive during it. */
export interface CatchUpTrial {
  readonly name: string
  readonly title: string
  readonly perSecond: number
}

/** Fills the backlog. Returns an id above its ids and below all later ones. */
async function fillBacklog(drive: Drive, { run, effort }: TrialRun): Promise<ObjectId> {
  const plan = { kind: 'closed', connections: effort.connections, forMs: BACKLOG_FOR_MS } as const
  const { report } = await drive.load({ orderPrefix: `${run}-backlog-`, count: effort.backlog, plan })
  if (report.acknowledged.length < effort.backlog) throw new Error('The backlog was not accepted as a whole')
  await sleep(1_000) // ids begin with whole seconds
  return ObjectId.createFromTime(Math.floor(Date.now() / 1_000))
}

function eventsOf({ gatewayDb }: Interrupted): Collection<EventDocument> {
  return gatewayDb.collection<EventDocument>(EVENTS)
}

async function untilFirstSettled(receiver: Interrupted): Promise<void> {
  const deadline = performance.now() + LONGEST_MS
  // Settled events have an expiry date, and an index covers the events that have one.
  while ((await eventsOf(receiver).findOne({ expireAt: { $gt: new Date(0) } })) === null) {
    if (performance.now() > deadline) throw new Error('Nothing was settled after fulfilment had come back')
    await sleep(POLL_MS)
  }
}

async function untilCaughtUp(receiver: Interrupted, boundary: ObjectId, backlog: number): Promise<void> {
  const deadline = performance.now() + LONGEST_MS
  const enough = Math.ceil(backlog * (1 - CAUGHT_UP))
  const countOf = (state: 'pending' | 'processing'): Promise<number> =>
    eventsOf(receiver).countDocuments({ state, _id: { $lt: boundary } }, { limit: enough + 1 })
  while ((await countOf('pending')) + (await countOf('processing')) > enough && performance.now() < deadline)
    await sleep(POLL_MS)
}

/**
 * Events settled per second, by their stored times, from the first one until 99 of 100 are settled. Events that arrived
 * meanwhile are included, because the order in which events are settled does not matter.
 */
async function rateOf(events: Collection<EventDocument>): Promise<number> {
  const times = await events
    .find({ state: 'done' }, { projection: { settledAt: 1 } })
    .map(({ settledAt }) => settledAt?.getTime() ?? 0)
    .toArray()
  times.sort((one, other) => one - other)
  const counted = Math.ceil(times.length * CAUGHT_UP)
  const [from, to] = [times[0] ?? Number.NaN, times[counted - 1] ?? Number.NaN]
  return counted / ((to - from) / 1_000)
}
