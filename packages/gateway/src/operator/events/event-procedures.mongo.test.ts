import { randomUUID } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { Binary, ObjectId } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sampleRecord } from '../../testing/sample-record.ts'
import { DEAD_SOON, PROVIDERS, paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database, { settings: DEAD_SOON }))
const operator = system.operator()

describe('events.list', () => {
  const provider = 'listed'
  const hour = (at: number): Date => new Date(Date.UTC(2026, 0, 1, at))
  const records = [
    sampleRecord({
      provider,
      receivedAt: hour(1),
      type: 'payment.failed',
      orderId: 'ord_a',
    }),
    sampleRecord({
      provider,
      receivedAt: hour(2),
      type: 'payment.succeeded',
      state: 'dead',
      reason: 'amount_mismatch',
      orderId: 'ord_b',
    }),
    sampleRecord({
      provider,
      receivedAt: hour(3),
      state: 'dead',
      reason: 'order_unknown',
      orderId: 'ord_b',
    }),
    sampleRecord({
      provider,
      receivedAt: hour(4),
      state: 'unhandled',
      reason: 'type_unhandled',
      type: 'other',
    }),
    sampleRecord({ provider: 'other-listed', receivedAt: hour(3) }),
  ]

  beforeAll(async () => {
    await system.events.insertMany(records)
  })

  it('shows what it promises, and nothing of the body', async () => {
    const { items } = await operator.events.list.query({ provider, state: 'dead', reason: 'amount_mismatch' })
    expect(items).toEqual([
      {
        ...{ id: String(records[1]?._id), provider, eventId: records[1]?.eventId, handler: 'fulfilment' },
        ...{
          type: 'payment.succeeded',
          objectId: 'pay_1',
          orderId: 'ord_b',
          state: 'dead',
          reason: 'amount_mismatch',
          starts: 1,
        },
        ...{ deliveries: 1, mismatches: 0, test: false, receivedAt: '2026-01-01T02:00:00.000Z', dueAt: null },
        settledAt: '2026-01-01T02:00:00.000Z',
      },
    ])
  })

  it.each([
    [{}, [3, 2, 1, 0]],
    [{ type: 'payment.failed' }, [0]],
    [{ state: 'dead' } as const, [2, 1]],
    [{ reason: 'order_unknown' }, [2]],
    [{ orderId: 'ord_b' }, [2, 1]],
    [{ from: '2026-01-01T02:00:00Z' }, [3, 2, 1]],
    [{ to: '2026-01-01T03:00:00Z' }, [1, 0]],
    [{ from: '2026-01-01T03:00:00+01:00', to: '2026-01-01T03:00:00.001Z' }, [2, 1]],
    [{ from: '0001-01-01T00:00:00Z', to: '9999-01-01T00:00:00Z' }, [3, 2, 1, 0]],
    [{ state: 'dead', orderId: 'ord_a' } as const, []],
  ])('finds by %j, newest first', async (filter, expected) => {
    const { items, next } = await operator.events.list.query({ provider, ...filter })
    expect(items.map(({ id }) => id)).toEqual(expected.map((index) => String(records[index]?._id)))
    expect(next).toBeNull()
  })

  it('compares a value that looks like a query operator literally', async () => {
    expect((await operator.events.list.query({ orderId: '$ne' })).items).toEqual([])
    const answer = await system.call(`/operator/events.list?input=${encodeURIComponent('{"orderId":{"$ne":""}}')}`, {
      headers: { authorization: `Bearer ${system.tokens.operators.alice}` },
    })
    expect(answer.status).toBe(400)
  })

  it.each([
    ['events.list', { text: 'jane@shop.example' }],
    ['events.list', { about: 'jane@shop.example' }],
    ['events.feed', { text: 'jane@shop.example' }],
    ['events.feed', { about: 'jane@shop.example' }],
    ['events.get', { id: '0'.repeat(24), reason: 'Jane asks' }],
  ])('takes a text that can name a person by POST only: %s %j', async (name, input) => {
    const headers = { authorization: `Bearer ${system.tokens.operators.alice}`, 'content-type': 'application/json' }
    const entries = await database.db.collection('audit').countDocuments()
    const url = `/operator/${name}?input=${encodeURIComponent(JSON.stringify(input))}`
    const answer = await system.call(url, { headers })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    expect(await database.db.collection('audit').countDocuments()).toBe(entries)
    const byPost = await system.call(`/operator/${name}`, { method: 'POST', headers, body: JSON.stringify(input) })
    expect(byPost.status).toBe(name === 'events.get' ? 404 : 200)
  })

  it('shows an event once as a whole, at its newest task that matches, whatever the page', async () => {
    const whole = 'whole'
    const task = (eventId: string, handler: string, dead = false) =>
      sampleRecord({
        ...{ provider: whole, eventId, handler, orderId: 'ord_whole' },
        ...(dead ? { state: 'dead', reason: 'handler_refused' } : { state: 'done' }),
      })
    // The last one is a backfill, long after the event.
    const tasks = [
      ...[task('a', 'mailer', true), task('a', 'fulfilment')],
      ...[task('b', 'fulfilment'), task('b', 'mailer'), task('a', 'search')],
    ]
    await system.events.insertMany(tasks)
    const pages = async (filter: object, limit: number) => {
      const items: Awaited<ReturnType<typeof operator.events.feed.query>>['items'] = []
      for (let after: string | null = ''; after !== null; ) {
        const place: object = after === '' ? {} : { after }
        const page: Awaited<ReturnType<typeof operator.events.feed.query>> = await operator.events.feed.query({
          ...{ provider: whole, limit, ...filter },
          ...place,
        })
        items.push(...page.items)
        after = page.next
      }
      return items
    }
    const ids = tasks.map(({ _id }) => String(_id))
    for (const limit of [1, 2, 3, 100]) {
      const all = await pages({}, limit)
      expect([limit, all.map(({ eventId, id }) => [eventId, id])]).toEqual([
        limit,
        [
          ['a', ids[4]],
          ['b', ids[3]],
        ],
      ])
      const [dead, ...none] = await pages({ state: 'dead' }, limit)
      expect(none).toEqual([])
      expect(dead).toMatchObject({
        ...{ id: ids[0], provider: whole, eventId: 'a', orderId: 'ord_whole', deliveries: 1, mismatches: 0 },
        tasks: [
          { id: ids[1], handler: 'fulfilment', state: 'done', reason: null },
          { id: ids[0], handler: 'mailer', state: 'dead', reason: 'handler_refused' },
          { id: ids[4], handler: 'search', state: 'done', reason: null },
        ],
      })
    }
    expect((await pages({ about: 'ord_whole' }, 2)).map(({ eventId }) => eventId)).toEqual(['a', 'b'])
  })

  it('pages without gaps or duplicates while records arrive, newest first', async () => {
    const paged = 'paged'
    const before = Array.from({ length: 57 }, (_, at) => sampleRecord({ provider: paged, receivedAt: hour(at) }))
    await system.events.insertMany(before)
    const seen: string[] = []
    let after: string | null = null
    do {
      const page: { items: { id: string }[]; next: string | null } = await operator.events.list.query({
        ...{ provider: paged, limit: 10 },
        ...(after === null ? {} : { after }),
      })
      seen.push(...page.items.map(({ id }) => id))
      after = page.next
      await system.events.insertOne(sampleRecord({ provider: paged, receivedAt: hour(1_000 + seen.length) }))
    } while (after !== null)
    expect(seen).toEqual(before.map(({ _id }) => String(_id)).reverse())
  })

  it('shows a record that other software wrote, and the others as well', async () => {
    const damage = { receivedAt: '2026-11-22', dueAt: 7, attempts: 'none', replays: 'none' } as object
    const made = [sampleRecord({ provider: 'imported' }), sampleRecord({ provider: 'imported' })]
    const [odd, whole] = made
    await system.events.insertMany([{ ...odd, ...damage } as (typeof made)[number], ...made.slice(1)])
    const { items } = await operator.events.list.query({ provider: 'imported' })
    expect(items.map(({ id }) => id).toSorted()).toEqual(made.map(({ _id }) => String(_id)).toSorted())
    const receivedAt = odd?._id.getTimestamp().toISOString()
    expect(items.find(({ id }) => id !== String(whole?._id))).toMatchObject({ receivedAt, dueAt: null })
    expect(await operator.events.get.query({ id: String(odd?._id) })).toMatchObject({ attempts: [], replays: [] })
  })

  it.each([
    [{ limit: 0 }],
    [{ limit: 101 }],
    [{ limit: 1.5 }],
    [{ after: 'nonsense' }],
    [{ after: '' }],
    [{ state: 'lost' as 'dead' }],
    [{ from: 'yesterday' }],
    [{ provider: '' }],
    [{ unknown: 1 } as object],
  ])('refuses %j', async (input) => {
    expect(await refusalOf(operator.events.list.query(input))).toMatchObject({ code: 'BAD_REQUEST' })
  })
})

describe('events.get', () => {
  it('shows everything that is kept, the body byte for byte', async () => {
    const id = randomUUID()
    const order = await system.order()
    const body = `{ "odd" : "\\u0041 é \u{1f600}",\n${JSON.stringify(paymentEvent(id, { orderId: order })).slice(1)}`
    expect(await system.deliver(body)).toBe(200)
    const record = await system.until(id, ({ state }) => state === 'done')
    // An operator sees what a majority holds, possibly a moment later.
    await expect.poll(() => operator.events.get.query({ id: String(record._id) })).toMatchObject({ state: 'done' })
    const shown = await operator.events.get.query({ id: String(record._id), body: true })
    expect(Buffer.from(shown.raw ?? '', 'base64').equals(Buffer.from(body))).toBe(true)
    expect(shown).toMatchObject({
      ...{ id: String(record._id), provider: 'acme', eventId: id, state: 'done', reason: null, orderId: order },
      ...{ secretId: 'newer', deliveries: 1, mismatches: 0, starts: 1, replays: [], lastError: null },
      headers: { 'content-type': 'application/json', 'stripe-signature': expect.stringMatching(/^t=\d+,v1=/) },
      attempts: [{ at: expect.any(String), ms: expect.any(Number), outcome: 'applied', code: null, message: null }],
      outcome: { kind: 'applied', version: 2 },
    })
  })

  it('shows why and how often an event failed', async () => {
    const id = randomUUID()
    expect(await system.deliver(paymentEvent(id, { orderId: 'ord_nobody_made' }))).toBe(200)
    const record = await system.until(id, ({ state }) => state === 'dead')
    // An operator sees what a majority holds, a little later.
    const show = () => operator.events.get.query({ id: String(record._id) })
    const dead = { state: 'dead', reason: 'order_unknown', lastError: { code: 'order_unknown' } }
    await expect.poll(show).toMatchObject(dead)
    const shown = await show()
    expect(shown.attempts.length).toBeGreaterThan(1)
    expect(shown.attempts.at(-1)).toMatchObject({ outcome: 'dead', code: 'order_unknown' })
    expect(shown.settledAt).not.toBeNull()
  })

  it.each([['000000000000000000000000'], ['no-id'], ['ABCDEFABCDEFABCDEFABCDEF'], ['$where']])(
    'knows no event %s',
    async (id) => {
      expect(await refusalOf(operator.events.get.query({ id }))).toMatchObject({
        code: 'NOT_FOUND',
        reason: 'not_found',
      })
      expect(await refusalOf(operator.events.reverify.query({ id }))).toMatchObject({ code: 'NOT_FOUND' })
    },
  )
})

describe('events.reverify', () => {
  async function store(how: Parameters<typeof system.deliver>[1] = {}): Promise<string> {
    const id = randomUUID()
    expect(await system.deliver(paymentEvent(id, { orderId: await system.order() }), how)).toBe(200)
    return String((await system.record(id))._id)
  }

  async function changeProviders(providers: object): Promise<void> {
    const logged = system.gateway.logs.length
    await system.writeProviders(providers)
    await expect.poll(() => system.gateway.logs.slice(logged).some(({ msg }) => msg === 'providers.changed')).toBe(true)
  }

  it('says by which secret the stored bytes are authentic', async () => {
    const id = await store({ secret: system.secrets.older })
    expect(await operator.events.reverify.query({ id })).toEqual({ valid: true, secretId: 'older', failure: null })
  })

  it('verifies as of the time of receipt, even if the delivery would be too old today', async () => {
    const receivedAt = new Date(Date.now() - 30 * 86_400_000)
    const id = await store()
    expect(await operator.events.reverify.query({ id })).toMatchObject({ valid: true })
    await system.events.updateOne({ _id: new ObjectId(id) }, { $set: { receivedAt } })
    expect(await operator.events.reverify.query({ id })).toEqual({
      ...{ valid: false, secretId: null, failure: 'timestamp_outside_window' },
    })
  })

  it('notices a body that was changed in the database', async () => {
    const id = await store()
    await system.events.updateOne({ _id: new ObjectId(id) }, { $set: { raw: new Binary(Buffer.from('{"id":"x"}')) } })
    expect(await operator.events.reverify.query({ id })).toEqual({
      ...{ valid: false, secretId: null, failure: 'signature_mismatch' },
    })
  })

  it('uses a secret that has expired since, but not one that was removed, and no removed provider', async () => {
    const { acme, shop } = PROVIDERS
    const [newer, older] = acme.secrets
    const endOlder = (notAfter: string) =>
      changeProviders({ shop, acme: { ...acme, secrets: [newer, { ...older, notAfter }] } })
    await endOlder(new Date(Date.now() + 3_600_000).toISOString())
    const id = await store({ secret: system.secrets.older })
    await endOlder(new Date().toISOString())
    expect(await system.deliver(paymentEvent(randomUUID()), { secret: system.secrets.older })).toBe(401)
    expect(await operator.events.reverify.query({ id })).toEqual({ valid: true, secretId: 'older', failure: null })

    await changeProviders({ shop, acme: { ...acme, secrets: [newer] } })
    expect(await operator.events.reverify.query({ id })).toEqual({
      ...{ valid: false, secretId: null, failure: 'signature_mismatch' },
    })

    await changeProviders({ shop })
    expect(await operator.events.reverify.query({ id })).toEqual({
      ...{ valid: false, secretId: null, failure: 'provider_unknown' },
    })
    await changeProviders(PROVIDERS)
    expect(await operator.events.reverify.query({ id })).toMatchObject({ valid: true })
  })
})
