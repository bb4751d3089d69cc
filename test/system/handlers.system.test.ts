import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { createHandler, type Handler, Refusal } from '@oncehook/handler'
import { type MongoTransaction, mongo } from '@oncehook/handler/mongo'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'

const WEBHOOK_SECRET = `whsec_${randomBytes(32).toString('base64')}`
const PROVIDER_SECRET = randomBytes(20).toString('hex')

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const own = stack.use(await testDatabase(process.env))
const shop = stack.use(await testDatabase(process.env))
const shopUrl = new URL(shop.uri.reveal())
shopUrl.pathname = shop.name
await setUpMongo(shopUrl.href)
const client = await new MongoClient(shopUrl.href).connect()
stack.defer(() => client.close())

/** What each handler has done: one document for each effect. */
const effects = client
  .db(shop.name)
  .collection<{ key: string; handler: string; id: string | null; ended: Date | null }>('effects')
await client.db(shop.name).createCollection('effects')

/** Refusals that a handler still has to throw, by event. */
const refusals = new Map<string, number>()

function startHandler(name: string): Handler {
  return createHandler<MongoTransaction>({
    ...{ name, secrets: WEBHOOK_SECRET, store: mongo(client, { database: shop.name }) },
    on: {
      async 'customer.subscription.*'(event, { db, session }) {
        const { key, objectId: id, occurredAt: ended } = event
        const left = refusals.get(key) ?? 0
        refusals.set(key, left - 1)
        if (left > 0) throw new Refusal('later', 'The subscription is unknown', { afterSeconds: 0 })
        await db.collection('effects').insertOne({ key, handler: name, id, ended }, { session })
      },
    },
  })
}

const handlers = await Promise.all(
  ['billing', 'search'].map(async (name) => {
    const handler = startHandler(name)
    const port = await handler.listen(0)
    stack.defer(() => handler.close())
    return [name, `http://127.0.0.1:${port}/webhooks`] as const
  }),
)

const gateway = stack.use(
  await startGateway({
    database: own,
    providers: {
      shop: { scheme: 'hmac', header: 'x-signature', effects: [], secrets: [{ id: '1', value: PROVIDER_SECRET }] },
    },
    settings: {
      ...{ RETRY_BASE_MS: '20', RETRY_CAP_MS: '200' },
      HANDLERS: JSON.stringify(
        Object.fromEntries(
          handlers.map(([name, https]) => [
            name,
            {
              ...{ https, secrets: [{ id: '1', value: WEBHOOK_SECRET }] },
              events: [{ provider: 'shop', types: ['customer.subscription.*'] }],
            },
          ]),
        ),
      ),
    },
  }),
)

async function deliver(id: string, body = bodyOf(id)): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    'x-signature': createHmac('sha256', PROVIDER_SECRET).update(body).digest('hex'),
  }
  return (await fetch(`${gateway.url}/api/webhooks/shop`, { method: 'POST', headers, body })).status
}

function bodyOf(id: string): string {
  const object = { id: `sub of ${id}`, plan: 'gold' }
  return JSON.stringify({ id, type: 'customer.subscription.deleted', created: 1_764_151_200, data: { object } })
}

function states(id: string): Promise<string[]> {
  const tasks = own.db.collection('events').find({ eventId: id }).sort({ handler: 1 })
  return tasks.map(({ handler, state }) => `${handler} ${state}`).toArray()
}

const DONE = ['billing done', 'search done']

describe('an event for two handlers with @oncehook/handler on MongoDB', () => {
  it('has its effect once in each, whatever the provider repeats', async () => {
    const id = `evt_${randomUUID()}`
    const statuses = await Promise.all([1, 2, 3, 4, 5].map(() => deliver(id)))
    expect(new Set(statuses)).toEqual(new Set([200]))
    await expect.poll(() => states(id)).toEqual(DONE)
    expect(await deliver(id)).toBe(200)
    const found = await effects.find({ id: `sub of ${id}` }, { sort: { handler: 1 } }).toArray()
    expect(found.map(({ key, handler, ended }) => [key, handler, ended])).toEqual(
      ['billing', 'search'].map((name) => [`shop:${id}:${name}`, name, new Date(1_764_151_200_000)]),
    )
  })

  it('is tried again if a function refuses it, and then has its effect once', async () => {
    const id = `evt_${randomUUID()}`
    refusals.set(`shop:${id}:billing`, 3)
    expect(await deliver(id)).toBe(200)
    await expect.poll(() => states(id)).toEqual(DONE)
    expect(await effects.countDocuments({ key: `shop:${id}:billing` })).toBe(1)
    const [record] = await own.db.collection('events').find({ eventId: id, handler: 'billing' }).toArray()
    expect(record?.attempts).toHaveLength(4)
    expect(record?.attempts[0]).toMatchObject({ code: 'handler_failed', message: 'The handler answered 409' })
  })

  it('has one effect if the answer to the handler was lost and the task is sent again', async () => {
    const id = `evt_${randomUUID()}`
    expect(await deliver(id)).toBe(200)
    await expect.poll(() => states(id)).toEqual(DONE)
    // As after an answer that never came: the record is due again, the effect has happened.
    await own.db.collection('events').updateMany({ eventId: id }, { $set: { state: 'pending' } })
    await expect.poll(() => states(id)).toEqual(DONE)
    expect(await effects.countDocuments({ id: `sub of ${id}` })).toBe(2)
    const records = await own.db.collection('events').find({ eventId: id }).toArray()
    expect(records.map(({ attempts }) => attempts.length)).toEqual([2, 2])
  })
})
