import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import type { Db } from 'mongodb'
import { Registry } from 'prom-client'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { createGatewayMetrics, createRequestTimer } from '../../metrics.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'
import { EVENT_INDEXES } from '../event-document.ts'
import { createMinutes, MINUTES, type MinuteDocument } from './minutes.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const { db } = database
await ensureIndexes(db, [EVENT_INDEXES])
const stored = db.collection<MinuteDocument>(MINUTES)
beforeEach(async () => {
  await Promise.all([stored.deleteMany(), db.collection(EVENTS).deleteMany()])
})

const NOON = Date.UTC(2026, 5, 15, 12)
const MINUTE_MS = 60_000

/** A process with its counters, and its clock. */
function open(used: Db = db) {
  const registry = new Registry()
  const errors: unknown[] = []
  const clock = { at: NOON, now: () => clock.at }
  const metrics = createGatewayMetrics(registry, () => undefined)
  const timer = createRequestTimer(registry)
  const minutes = createMinutes({ db: used, registry, clock, onError: (error) => errors.push(error) })
  return {
    ...{ minutes, clock, errors },
    /** Counts an event that was received, a refused delivery, an answer within 40 ms and two failed attempts. */
    count(): void {
      metrics.delivered('acme', 'recorded')
      metrics.delivered('acme', 'handshake')
      metrics.delivered('shop', 'rate_limited')
      for (const status of [200, 429]) timer.observe({ route: '/api/webhooks/{provider}', status }, 0.04)
      for (const code of ['order_unknown', 'a.$path of a handler', null]) minutes.settled({ code })
    },
  }
}

/** What this many calls of `count` add to a minute. */
const countedTimes = (times: number) => ({
  ...{ received: times, refused: { rate_limited: times }, failed: { order_unknown: times, others: times } },
  answered: { 3: times },
})

it('all processes add what they counted in a minute', async () => {
  const processes = [open(), open(), open()]
  for (const minute of [1, 2]) {
    for (const { count, clock } of processes) {
      for (let times = 0; times < minute; times += 1) count()
      clock.at += MINUTE_MS
    }
    await Promise.all(processes.map(({ minutes }) => minutes.flush()))
  }
  const expireAt = new Date(NOON + 14 * 86_400_000)
  expect(await stored.find({}, { sort: { _id: 1 } }).toArray()).toMatchObject([
    { _id: new Date(NOON), ...countedTimes(3), expireAt },
    { _id: new Date(NOON + MINUTE_MS), ...countedTimes(6) },
  ])
  expect(processes.flatMap(({ errors }) => errors)).toEqual([])
})

it('the first one also counts the pending tasks by age', async () => {
  const ages = [10, 30, 90, 700, 900, 1_200, 9_000]
  const pending = ages.map((age) => sampleRecord({ state: 'pending', receivedAt: new Date(NOON - age * 1_000) }))
  await db.collection(EVENTS).insertMany([...pending, sampleRecord({ receivedAt: new Date(NOON) })] as never[])
  for (const { minutes } of [open(), open()]) await minutes.flush()
  expect((await stored.findOne())?.waiting).toEqual([2, 1, 3, 1])
})

it('a minute is stored later if the database is away', async () => {
  let isAway = true
  const away = (): never => {
    throw new Error('away')
  }
  const get = (_: Db, name: string | symbol) => (isAway ? away : Reflect.get(db, name).bind(db))
  const { count, clock, errors, minutes } = open(new Proxy(db, { get }))
  for (const minute of [0, 1, 2]) {
    isAway = minute < 2
    count()
    clock.at += MINUTE_MS
    await minutes.flush()
  }
  expect(await stored.find({}, { sort: { _id: 1 } }).toArray()).toMatchObject([1, 1, 1].map(countedTimes))
  expect(errors).toHaveLength(2)
})

it('a gateway that stops has stored what it answered, refused and could not apply', async () => {
  await using system = await startOperatedSystem(database)
  const orderId = await system.order()
  expect(await system.deliver(paymentEvent('evt_1', { orderId }))).toBe(200)
  expect(await system.deliver(paymentEvent('evt_2', { orderId: await system.order(), amount: 1 }))).toBe(200)
  expect(await system.deliver(paymentEvent('evt_3'), { secret: 'of a forger' })).toBe(401)
  await system.until('evt_2', ({ state }) => state === 'dead')
  await system.gateway.close()
  const [sum] = await stored
    .aggregate([
      {
        $group: {
          _id: null,
          received: { $sum: '$received' },
          forged: { $sum: '$refused.signature_invalid' },
          failed: { $sum: '$failed.amount_mismatch' },
        },
      },
    ])
    .toArray()
  expect(sum).toEqual({ _id: null, received: 2, forged: 1, failed: 1 })
})
