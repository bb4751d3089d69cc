import { randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sampleRecord } from '../testing/sample-record.ts'
import { PROVIDERS, paymentEvent, startOperatedSystem } from '../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const operator = system.operator()

beforeEach(async () => {
  await Promise.all([system.events.deleteMany(), system.db.collection('audit').deleteMany()])
})

describe('overview', () => {
  it('counts the events by state, the dead by reason, and shows the age of the oldest unsettled one', async () => {
    const now = Date.now()
    const ago = (seconds: number): Date => new Date(now - seconds * 1_000)
    // A time later than any delay or end of a claim that is ever set would count as past.
    const later = new Date(now + 50_000)
    await system.events.insertMany([
      ...Array.from({ length: 3 }, () => sampleRecord({ receivedAt: ago(3_600) })),
      sampleRecord({ state: 'unhandled', reason: 'type_unhandled' }),
      sampleRecord({ state: 'dead', reason: 'amount_mismatch', receivedAt: ago(7_200) }),
      ...Array.from({ length: 2 }, () => sampleRecord({ state: 'dead', reason: 'order_unknown', receivedAt: ago(90) })),
      sampleRecord({ state: 'pending', dueAt: later, receivedAt: ago(600) }),
      sampleRecord({ state: 'pending', dueAt: later, receivedAt: ago(1_200), provider: 'shop' }),
      sampleRecord({ state: 'processing', claim: 'x', dueAt: later, receivedAt: ago(75) }),
    ])
    const { oldestUnsettledSeconds, ...rest } = await operator.overview.query()
    expect(rest).toEqual({
      states: { pending: 2, processing: 1, dead: 3, closed: 0, unhandled: 1, done: 3 },
      deadByReason: { order_unknown: 2, amount_mismatch: 1 },
      deadOfOtherReasons: 0,
      pausedProviders: [],
      pausedHandlers: [],
      receivedLastMinute: 1,
    })
    expect(oldestUnsettledSeconds).toBeGreaterThanOrEqual(1_200)
    expect(oldestUnsettledSeconds).toBeLessThan(1_260)
    const providers = await operator.providers.list.query()
    const ages = Object.fromEntries(
      providers.map(({ name, oldestUnsettledSeconds: age }) => [name, Math.floor(age ?? -1)]),
    )
    expect(ages.shop).toBeGreaterThanOrEqual(1_200)
    expect(ages.acme).toBeGreaterThanOrEqual(600)
    expect(ages.acme).toBeLessThan(700)
    await system.events.deleteMany({ state: { $in: ['pending', 'processing'] } })
    expect((await operator.overview.query()).oldestUnsettledSeconds).toBe(0)
  })

  it('lists the 20 most frequent reasons, however many handlers choose', async () => {
    const dead = (reason: string) => sampleRecord({ state: 'dead', reason })
    const rare = Array.from({ length: 200 }, (_, index) => dead(`rare_${index}`))
    const frequent = Array.from({ length: 20 }, (_, index) => `frequent_${index}`)
    await system.events.insertMany([...rare, ...Array.from({ length: 4 }, () => frequent.map(dead)).flat()])
    const { deadByReason, deadOfOtherReasons, states } = await operator.overview.query()
    expect(deadByReason).toEqual(Object.fromEntries(frequent.map((reason) => [reason, 4])))
    expect([states.dead, deadOfOtherReasons]).toEqual([280, 200])
  })
})

describe('providers.list', () => {
  it('shows what each has sent and which secrets matched, but no values', async () => {
    const notAfter = '2099-01-01T00:00:00.000Z'
    const [newer, older] = PROVIDERS.acme.secrets
    const secrets = [newer, { ...older, notAfter }]
    await system.writeProviders({ ...PROVIDERS, acme: { ...PROVIDERS.acme, secrets } })
    const id = randomUUID()
    const orderId = await system.order()
    await system.deliver(paymentEvent(id, { orderId }))
    await system.deliver(paymentEvent(id, { orderId }))
    await system.deliver(paymentEvent(randomUUID(), {}, 'customer.created'), { secret: system.secrets.older })
    await system.deliver(paymentEvent(randomUUID()), { secret: 'the-secret-of-a-forger' })
    await system.deliver('not json')
    const matched = (count: number) => ({ matches: count, lastMatchedAt: expect.stringMatching(/^20.*Z$/) })
    await expect
      .poll(() => operator.providers.list.query())
      .toEqual([
        {
          ...{
            name: 'acme',
            scheme: 'stripe',
            path: '/api/webhooks/acme',
            oldestUnsettledSeconds: null,
            paused: null,
            takesTests: true,
          },
          secrets: [
            { id: 'newer', notAfter: null, ...matched(3) },
            { id: 'older', notAfter, ...matched(1) },
          ],
          deliveries: { recorded: 1, duplicate: 1, unhandled: 2, signature_invalid: 1 },
        },
        {
          ...{
            name: 'shop',
            scheme: 'hmac',
            path: '/api/webhooks/shop',
            oldestUnsettledSeconds: null,
            paused: null,
            takesTests: true,
          },
          secrets: [{ id: 'only', notAfter: null, matches: 0, lastMatchedAt: null }],
          deliveries: {},
        },
      ])
  })
})

const NOBODY = { provider: 'nobody' }

describe('audit.list', () => {
  it('marks what somebody else has written into the database, with a number or without', async () => {
    for (const reason of ['one', 'two', 'three']) await operator.events.replay.mutate({ filter: NOBODY, reason })
    const log = system.db.collection('audit')
    const forged = { at: new Date(), by: 'alice', action: 'erase', reason: 'made up', details: {} }
    await log.insertOne({ ...forged, seq: 2.5 })
    await log.insertOne({ at: 'yesterday', by: null, action: 7, details: 'none' })
    await log.updateOne({ seq: 1 }, { $set: { by: 'bob' } })
    const { items } = await operator.audit.list.query()
    expect(items.map(({ seq, by, isInChain }) => [seq, by, isInChain])).toEqual([
      [null, 'null', false],
      [3, 'alice', true],
      [2.5, 'alice', false],
      [2, 'alice', true],
      [1, 'bob', false],
    ])
    expect(items[0]).toMatchObject({ at: 'yesterday', action: '7', reason: null, details: {} })
    const [second] = (await operator.audit.list.query({ limit: 1, after: items[1]?.id ?? '' })).items
    expect(second).toMatchObject({ seq: 2.5, isInChain: false })
  })
})
