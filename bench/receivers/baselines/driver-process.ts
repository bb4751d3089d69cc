import { MongoClient } from 'mongodb'
import type { LoadReport } from '../../load/load-report.ts'
import { signDeliveries } from '../../load/signed-deliveries.ts'
import { Tally } from '../../load/tally.ts'
import { DURABLE } from '../receiver.ts'
import type { DriverOrder } from './driver.ts'

// The driver alone, without HTTP or signatures: it inserts the naive receiver's records, made before the clock runs.

const { DRIVER_MONGODB_URI = '', DRIVER_DB = '' } = process.env
const IN_FLIGHT = 64
const AS_COMMAND = { w: DURABLE.w, j: DURABLE.journal } // with the server's names

interface Prepared {
  readonly eventId: string
  readonly type: string
  readonly receivedAt: Date
  readonly event: unknown
}

const client = await new MongoClient(DRIVER_MONGODB_URI, { writeConcern: DURABLE }).connect()
const db = client.db(DRIVER_DB)
const events = db.collection<Prepared>('events')
await events.createIndex({ eventId: 1 }, { unique: true })

process.on('disconnect', () => process.exit(0))
process.on('message', (order: DriverOrder) => void drive(order).then((answer) => process.send?.(answer)))
process.send?.('ready')

let prepared: Prepared[] = []

async function drive(order: DriverOrder): Promise<'ready' | LoadReport> {
  if ('forMs' in order) return order.way === 'one by one' ? insertOneByOne(order.forMs) : insertInGroups(order.forMs)
  prepared = prepare(order.prepare)
  return 'ready'
}

/** The records that the naive receiver would store for such deliveries. */
function prepare(count: number): Prepared[] {
  const batch = { url: 'http://127.0.0.1/', secret: 'unused', count, mix: 'unique', orderPrefix: 'order-' } as const
  return signDeliveries(batch, Date.now()).map(({ eventId, request }) => {
    const event = JSON.parse(request.toString('utf8', request.indexOf('\r\n\r\n') + 4))
    return { eventId, type: event.type, receivedAt: new Date(), event }
  })
}

async function insertOneByOne(forMs: number): Promise<LoadReport> {
  const queue = prepared.values()
  return timed(forMs, async ({ tally, now, endAt }) => {
    const work = async (): Promise<void> => {
      while (now() < endAt) {
        const next = queue.next()
        if (next.done) return
        const sentAt = now()
        await events.insertOne(next.value)
        tally.answered({ eventId: next.value.eventId, status: 200, ms: now() - sentAt })
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, work))
  })
}

function insertInGroups(forMs: number): Promise<LoadReport> {
  return timed(forMs, async ({ tally, now, endAt }) => {
    for (let from = 0; from < prepared.length && now() < endAt; from += IN_FLIGHT) {
      const documents = prepared.slice(from, from + IN_FLIGHT)
      const sentAt = now()
      const reply = await db.command({ insert: 'events', documents, ordered: false, writeConcern: AS_COMMAND })
      if (reply.n !== documents.length || reply.writeConcernError) throw new Error('An insert command failed')
      for (const { eventId } of documents) tally.answered({ eventId, status: 200, ms: now() - sentAt })
    }
  })
}

interface Timed {
  readonly tally: Tally
  readonly now: () => number
  readonly endAt: number
}

async function timed(forMs: number, work: (timed: Timed) => Promise<void>): Promise<LoadReport> {
  const tally = new Tally()
  const now = (): number => performance.timeOrigin + performance.now()
  const beganAt = now()
  await work({ tally, now, endAt: beganAt + forMs })
  return tally.report(beganAt, now())
}
