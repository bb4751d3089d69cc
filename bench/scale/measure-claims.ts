import { EVENT_INDEXES, FULFILMENT } from '@oncehook/gateway/inbox/event-document'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { EVENTS } from '@oncehook/queue/task'
import type { ClaimedInRound, ClaimingOptions, ClaimingRound } from '@oncehook/queue/testing/claiming-process'
import { Binary, type Db } from 'mongodb'
import { endChild, forkWorker, type Worker } from '../fork-worker.ts'
import { fillStored } from '../receivers/oncehook/fill-stored.ts'
import type { Setup } from '../receivers/receiver.ts'

/** What several processes did with one backlog. */
export interface ClaimFigures {
  readonly claimsPerSecond: number
  /** Documents that the server examined, for all commands together, for each claim. Settling examines one of them. */
  readonly examinedPerClaim: number
  /** Events that a search found although another process took them, for each 100 claims. */
  readonly wastedPercent: number
  /** The smallest and the largest share of a process, in percent of an equal share. */
  readonly shares: readonly [smallest: number, largest: number]
}

/** How many processes share a backlog of how many events. */
interface Sharing {
  readonly processes: number
  readonly events: number
}

const SCRIPT = import.meta.resolve('@oncehook/queue/testing/claiming-process')
const BATCH = 500
const BODY_BYTES = 1_024

type Claimer = Worker<ClaimingRound>

/** Lets processes claim and settle a backlog in batches of 500, as dispatchers do, until nothing is left. */
export async function measureClaims(setup: Setup, { processes, events }: Sharing): Promise<ClaimFigures> {
  const name = `scale_${processes}`
  const db = setup.database(name)
  await storeBacklog(db, events)
  await using stack = new AsyncDisposableStack()
  const claimers: Claimer[] = []
  for (let started = 0; started < processes; started += 1) {
    const options: ClaimingOptions = { uri: setup.mongoUri, database: name, handler: FULFILMENT }
    const claimer = await forkWorker<ClaimingRound>(SCRIPT, { args: [JSON.stringify(options)] })
    stack.defer(() => endChild(claimer.child))
    claimers.push(claimer)
  }
  await setup.database('admin').command({ fsync: 1 })
  const examinedBefore = await readExamined(setup)
  const startedAt = performance.now()
  const done = await Promise.all(claimers.map(claimAll))
  const seconds = (performance.now() - startedAt) / 1_000
  const examined = (await readExamined(setup)) - examinedBefore
  const left = await db.collection(EVENTS).countDocuments({ state: { $ne: 'done' } })
  if (left > 0) throw new Error(`${left} events of the backlog were not settled`)
  await db.dropDatabase()
  const claimed = done.map((one) => one.claimed)
  const found = done.reduce((sum, one) => sum + one.found, 0)
  const share = (count: number): number => (count * processes * 100) / events
  return {
    claimsPerSecond: events / seconds,
    examinedPerClaim: examined / events,
    wastedPercent: ((found - events) * 100) / events,
    shares: [share(Math.min(...claimed)), share(Math.max(...claimed))],
  }
}

async function claimAll(claimer: Claimer): Promise<ClaimedInRound> {
  let [claimed, found] = [0, 0]
  for (;;) {
    const round = (await claimer.ask({ limit: BATCH })) as ClaimedInRound
    claimed += round.claimed
    found += round.found
    if (round.found === 0) return { claimed, found }
  }
}

async function storeBacklog(db: Db, count: number): Promise<void> {
  await db.dropDatabase()
  await ensureIndexes(db, [EVENT_INDEXES])
  const raw = new Binary(Buffer.alloc(BODY_BYTES, 'x'))
  const { settledAt: _, ...template } = sampleRecord({ state: 'pending', type: 'payment.succeeded', raw })
  await fillStored(db, template, count)
}

async function readExamined(setup: Setup): Promise<number> {
  const { metrics } = await setup.database('admin').command({ serverStatus: 1 })
  return metrics.queryExecutor.scannedObjects
}
