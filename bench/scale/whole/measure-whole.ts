import { setTimeout as sleep } from 'node:timers/promises'
import { EVENTS, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import type { Db } from 'mongodb'
import { startMeter, type Usage } from '../../measure/meter.ts'
import { insertOrders } from '../../receivers/oncehook/insert-orders.ts'
import type { Setup } from '../../receivers/receiver.ts'
import { type FleetCounters, readFleetCounters } from './fleet-counters.ts'
import { type SpreadLoad, type SpreadPlan, startSpreadLoad } from './spread-load.ts'
import { type Fleet, startFleet } from './start-fleet.ts'

/** Loads for the whole path, from delivery to settled event, one after the other. */
export interface WholeLoads {
  readonly gateways: number
  /** Deliveries per second, for all gateways together: one number for each load. */
  readonly rates: readonly number[]
  /** How long each load lasts. */
  readonly seconds: number
}

/** What one event cost. Times are of the processor, of all threads of all processes of a kind, in microseconds. */
export interface WholeFigures {
  readonly gateways: number
  readonly fulfilments: number
  readonly perSecond: number
  readonly events: number
  readonly gatewayUs: number
  readonly fulfilmentUs: number
  readonly mongodUs: number
  /** Commands of the server for each event, without those of the benchmark. */
  readonly commands: number
  /** The same by name, without those that are rare. */
  readonly byName: Readonly<Record<string, number>>
  /** Documents for each insert command. */
  readonly insertGroup: number
  /** Events for each call to fulfilment. */
  readonly callBatch: number
  /** Documents that the server examined for each event. */
  readonly examined: number
  readonly lostClaims: number
  readonly duplicates: number
  readonly connections: number
  /** p99 of the answers of the slowest gateway, in milliseconds. */
  readonly p99Ms: number
  /** The share of the machine's processor time that other programs used meanwhile, 0 to 1. */
  readonly foreignShare: number
}

const MOST_FULFILMENTS = 2
const WARM_UP = { deliveriesEach: 2_000, connections: 64 }
const CONNECTIONS = 128
/** The wait until every event is settled. */
const SETTLING = { pollMs: 250, timeoutMs: 120_000 }
/** Commands that come less often than this for each event are not named. */
const RARE = 0.005

/** Sends signed deliveries to all gateways by a schedule, and waits until every event is settled. Once for each rate. */
export async function measureWhole(setup: Setup, { gateways, rates, seconds }: WholeLoads): Promise<WholeFigures[]> {
  const fulfilments = Math.min(gateways, MOST_FULFILMENTS)
  const run = `whole_${gateways}`
  await using fleet = await startFleet(setup, { run, gateways, fulfilments })
  using sender = await startSpreadLoad()
  const sending = { setup, fleet, sender }
  const warmUp = { connections: Math.ceil(WARM_UP.connections / gateways), perSecond: null }
  await sendAll(sending, { prefix: `${run}-warm-`, each: WARM_UP.deliveriesEach, plan: warmUp })
  await setup.database('admin').command({ fsync: 1 })
  const figures: WholeFigures[] = []
  // The highest rate first: code that is still cold then counts least.
  for (const perSecond of rates.toSorted((one, other) => other - one)) {
    const each = Math.ceil((perSecond * seconds) / gateways)
    const plan = { connections: Math.ceil(CONNECTIONS / gateways), perSecond: perSecond / gateways }
    const driven = await sendAll(sending, { prefix: `${run}-${perSecond}-`, each, plan })
    figures.push({ gateways, fulfilments, perSecond, ...toFigures(driven) })
  }
  return figures
}

interface Sending {
  readonly setup: Setup
  readonly fleet: Fleet
  readonly sender: SpreadLoad
}

interface Deliveries {
  readonly prefix: string
  /** For each gateway. */
  readonly each: number
  readonly plan: SpreadPlan
}

interface Driven {
  readonly events: number
  readonly before: FleetCounters
  readonly after: FleetCounters
  readonly usage: Usage
  /** Searches of the benchmark itself. */
  readonly looks: number
  readonly connections: number
  readonly p99Ms: number
}

async function sendAll({ setup, fleet, sender }: Sending, { prefix, each, plan }: Deliveries): Promise<Driven> {
  const events = each * fleet.urls.length
  for (const index of fleet.urls.keys()) await insertOrders(fleet.fulfilmentDb, `${prefix}${index}-`, each)
  await sender.sign({ urls: fleet.urls, secret: setup.secret, count: each, orderPrefix: prefix })
  const before = await readFleetCounters(setup, fleet)
  const meter = startMeter(pidsOf({ setup, fleet, sender }))
  const answer = await sender.send(plan)
  const looks = await untilSettled(fleet.gatewayDb)
  const usage = meter()
  const after = await readFleetCounters(setup, fleet)
  const refused = events - answer.acknowledged
  if (refused > 0) throw new Error(`${refused} of ${events} deliveries were not accepted: the rate is too high here`)
  const settled = await fleet.gatewayDb
    .collection(EVENTS)
    .countDocuments({ state: 'done', orderId: startsWith(prefix) })
  if (settled < events) throw new Error(`${events - settled} of ${events} events had no effect`)
  const { connections } = await setup.database('admin').command({ serverStatus: 1 })
  return { events, before, after, usage, looks, connections: connections.current, p99Ms: answer.p99Ms }
}

function startsWith(prefix: string) {
  return { $gte: prefix, $lt: `${prefix}\uffff` }
}

function pidsOf({ setup, fleet, sender }: Sending): Record<string, number> {
  const named = (kind: string, members: readonly { pid: number }[]) =>
    members.map(({ pid }, index): [string, number] => [`${kind} ${index}`, pid])
  return {
    ...{ mongod: setup.mongodPid, sender: sender.pid, benchmark: process.pid },
    ...Object.fromEntries([...named('gateway', fleet.gateways), ...named('fulfilment', fleet.fulfilments)]),
  }
}

/** Waits until nothing is due or in progress. Resolves to the number of searches that it made. */
async function untilSettled(db: Db): Promise<number> {
  const events = db.collection<EventDocument>(EVENTS)
  const deadline = performance.now() + SETTLING.timeoutMs
  for (let looks = 1; ; looks += 1) {
    await sleep(SETTLING.pollMs)
    // One search for both would use no index.
    const open = await Promise.all([events.findOne({ state: 'processing' }), events.findOne({ state: 'pending' })])
    if (open.every((one) => one === null)) return looks * open.length
    if (performance.now() > deadline) throw new Error('Events were not settled within two minutes')
  }
}

function toFigures({ events, before, after, usage, looks, connections, p99Ms }: Driven) {
  const perEvent = (counter: (of: FleetCounters) => number): number => (counter(after) - counter(before)) / events
  const usOf = (kind: string): number => {
    const spent = Object.entries(usage.processes).filter(([name]) => name.startsWith(kind))
    return (spent.reduce((sum, [, ms]) => sum + ms, 0) * 1_000) / events
  }
  const names = Object.keys(after.commands)
  const commandsOf = (name: string): number =>
    perEvent(({ commands }) => commands[name] ?? 0) - (name === 'find' ? looks / events : 0)
  return {
    events,
    gatewayUs: usOf('gateway'),
    fulfilmentUs: usOf('fulfilment'),
    mongodUs: usOf('mongod'),
    commands: names.reduce((sum, name) => sum + commandsOf(name), 0),
    byName: Object.fromEntries(
      names.map((name): [string, number] => [name, commandsOf(name)]).filter(([, count]) => count > RARE),
    ),
    insertGroup: perEvent(({ inserted }) => inserted) / commandsOf('insert'),
    callBatch: 1 / perEvent(({ calls }) => calls),
    examined: perEvent((of) => of.examined),
    lostClaims: after.lostClaims - before.lostClaims,
    duplicates: after.duplicates - before.duplicates,
    connections,
    p99Ms,
    foreignShare: usage.foreignShare,
  }
}
