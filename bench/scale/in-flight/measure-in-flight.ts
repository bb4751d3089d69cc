import { setTimeout as sleep } from 'node:timers/promises'
import { EVENTS } from '@oncehook/gateway/inbox/event-document'
import { type Profile, startProfile } from '@oncehook/kernel/testing/profile'
import type { Db } from 'mongodb'
import { processorMs } from '../../measure/process-usage.ts'
import { medianOf } from '../../measure/statistics.ts'
import type { Setup } from '../../receivers/receiver.ts'
import { startFleet } from '../whole/start-fleet.ts'
import { type RepeatedCommand, type RepeatedKind, readRepeated } from './profiled-commands.ts'
import { countHeld, declareOwners, storeInFlight } from './store-in-flight.ts'

/** What a command costs while many records are in process. */
export interface RepeatedCost {
  readonly kind: RepeatedKind
  /** The processes that hold records. */
  readonly owners: number
  readonly keys: number
  readonly documents: number
  /** Processor time of the server in microseconds, and time until its answer in milliseconds. */
  readonly mongodUs: number
  readonly medianMs: number
}

/** What was measured while records of other processes were in process. */
export interface InFlightFigures {
  readonly events: number
  readonly repeated: readonly RepeatedCost[]
  readonly takeover: TakeoverCost
}

/** The takeover of the records of a dead process by one gateway. */
interface TakeoverCost {
  readonly records: number
  /** Documents that the server examined for each record, until all had been taken over. */
  readonly examined: number
  readonly seconds: number
}

/** Processes that hold records, and how many records some of them hold. */
const SIZES = { few: 8, many: 100, eachOfMany: 100, ofDead: 5_000 }
/** How long commands are watched, and how often each is sent again. */
const WATCHING = { ms: 15_000, repeats: 300 }
/** The wait for a takeover. */
const TAKEOVER = { pollMs: 100, timeoutMs: 120_000 }

const named = (word: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${word}-${index}`)

/**
 * Measures what one gateway asks again and again while living processes hold this many records: first 8 processes, then
 * 100. Then a dead process leaves 5,000 more, which the gateway takes over.
 */
export async function measureInFlight(setup: Setup, events: number): Promise<InFlightFigures> {
  const size = { run: 'in_flight', gateways: 1, fulfilments: 1 }
  await using fleet = await startFleet(setup, size)
  const db = fleet.gatewayDb
  const few = named('few', SIZES.few)
  await declareOwners(db, few, 'living')
  await storeInFlight(db, { owners: few, count: events })
  const ofFew = await repeatedCosts(setup, db, SIZES.few)
  const more = named('more', SIZES.many - SIZES.few)
  await declareOwners(db, more, 'living')
  await storeInFlight(db, { owners: more, count: more.length * SIZES.eachOfMany })
  const ofMany = await repeatedCosts(setup, db, SIZES.many)
  const takeover = await measureTakeover(setup, db)
  const held = await countHeld(db, [...few, ...more])
  const expected = events + more.length * SIZES.eachOfMany
  if (held < expected) throw new Error(`${expected - held} records of living processes were taken over`)
  return { events, repeated: [...ofFew, ...ofMany], takeover }
}

async function repeatedCosts(setup: Setup, db: Db, owners: number): Promise<RepeatedCost[]> {
  await setup.database('admin').command({ fsync: 1 })
  const commands = await watch(db)
  const costs: RepeatedCost[] = []
  for (const one of commands) costs.push({ ...(await repeat(setup, db, one)), owners })
  return costs
}

async function watch(db: Db): Promise<RepeatedCommand[]> {
  await using _: Profile = await startProfile(db)
  await sleep(WATCHING.ms)
  return readRepeated(db)
}

/** Sends a command many times, one after the other. */
async function repeat(setup: Setup, db: Db, { command, ...examined }: RepeatedCommand) {
  const times: number[] = []
  const before = processorMs(setup.mongodPid)
  for (let count = 0; count < WATCHING.repeats; count += 1) {
    const startedAt = performance.now()
    await db.command(command)
    times.push(performance.now() - startedAt)
  }
  const mongodUs = ((processorMs(setup.mongodPid) - before) * 1_000) / WATCHING.repeats
  return { ...examined, mongodUs, medianMs: medianOf(times) }
}

async function measureTakeover(setup: Setup, db: Db): Promise<TakeoverCost> {
  const dead = ['dead']
  const events = db.collection(EVENTS)
  await declareOwners(db, dead, 'dead')
  const examinedBefore = await readExamined(setup)
  await storeInFlight(db, { owners: dead, count: SIZES.ofDead })
  const startedAt = performance.now()
  // The index answers: these looks examine no document.
  while ((await events.findOne({ state: 'processing', leaseOwner: 'dead' }, { projection: { _id: 1 } })) !== null) {
    if (performance.now() - startedAt > TAKEOVER.timeoutMs)
      throw new Error('Nobody took over the records of a dead process')
    await sleep(TAKEOVER.pollMs)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const examined = ((await readExamined(setup)) - examinedBefore) / SIZES.ofDead
  return { records: SIZES.ofDead, examined, seconds }
}

async function readExamined(setup: Setup): Promise<number> {
  const { metrics } = await setup.database('admin').command({ serverStatus: 1 })
  return metrics.queryExecutor.scannedObjects
}
