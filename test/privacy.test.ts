import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { DEAD_SOON, paymentEvent, startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import type { Db, Document } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'

const document = readFileSync(resolve(import.meta.dirname, '../docs/explanation/privacy.md'), 'utf8')

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database, { settings: DEAD_SOON }))

// None of these contains personal data: states, counts, times, and our own names.
const NOT_PERSONAL: Record<string, readonly string[]> = {
  [EVENTS]: [
    ...['_id', 'state', 'reason', 'secretId', 'starts', 'lost', 'deliveries', 'mismatches'],
    ...['settledAt', 'expireAt', 'stripAt', 'keepKey', 'bodyId', 'again'],
    ...['claim', 'dueAt', 'brokeAt', 'failing'],
  ],
  bodies: ['_id', 'checkAt'],
  provider_pauses: ['_id', 'since'],
  audit: ['_id', 'at', 'action', 'seq', 'hash', 'previous'],
  replays: [
    ...['_id', 'state', 'ratePerSecond', 'matched', 'notRead', 'cursor', 'until', 'leaseUntil'],
    ...['startedAt', 'finishedAt'],
  ],
  refusals: [
    ...['_id', 'id', 'at', 'provider', 'reason', 'why', 'status', 'bytes', 'secretIds', 'causes', 'expireAt'],
    ...['taken', 'count', 'since', 'lastAt'],
  ],
  orders: ['_id', 'status', 'access', 'currency', 'amountDue', 'createdAt', 'updatedAt', 'deletedAt'],
  idempotency_keys: ['_id', 'orderId', 'createdAt', 'state', 'run', 'leaseUntil', 'expiresAt'],
}
const WITHOUT_PEOPLE = ['readiness', 'format', 'housekeeping', 'tallies', 'minutes', 'encryption_keys']

/** Collection -> the fields that the document lists. */
function documented(heading: string): Map<string, Set<string>> {
  const rows = document.matchAll(new RegExp(`^\\| ${heading} \\| \`(\\w+)\` \\| (.+?) \\|`, 'gm'))
  const fields = new Map<string, Set<string>>()
  for (const [, collection = '', names = ''] of rows) {
    const known = fields.get(collection) ?? new Set()
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g)) known.add(name)
    fields.set(collection, known)
  }
  return fields
}

/** Collection -> every field that one of its documents has. */
async function stored(db: Db): Promise<Map<string, Set<string>>> {
  const collections = await db.listCollections({}, { nameOnly: true }).toArray()
  const names = collections.map(({ name }) => name).filter((name) => !WITHOUT_PEOPLE.includes(name))
  const found = names.map(async (name): Promise<[string, Set<string>]> => {
    const documents: Document[] = await db.collection(name).find().toArray()
    return [name, new Set(documents.flatMap((one) => Object.keys(one)))]
  })
  return new Map(await Promise.all(found))
}

async function use(): Promise<void> {
  const [paid, dead] = [randomUUID(), randomUUID()]
  const order = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'book', quantity: 2, unitAmount: 150 }] }
  const made = await fetch(`${system.gateway.url}/api/orders`, {
    method: 'POST',
    body: JSON.stringify({ ...order, email: 'a@example.com', note: 'a note', metadata: { a: 'b' } }),
    headers: {
      ...{ authorization: `Bearer ${system.tokens.api}`, 'content-type': 'application/json' },
      'idempotency-key': `"${randomUUID()}"`,
    },
  })
  const { id: orderId } = (await made.json()) as { id: string }
  await system.deliver(paymentEvent(paid, { orderId }))
  await system.deliver(paymentEvent(dead, { orderId: await system.order(), amount: 1 }), { provider: 'shop' })
  await system.until(paid, ({ state }) => state === 'done')
  const { _id } = await system.until(dead, ({ state }) => state === 'dead')
  await system.deliver({}, { secret: 'of a forger' })
  await expect.poll(() => database.db.collection('refusals').countDocuments()).toBeGreaterThan(0)
  const { events, providers } = system.operator()
  await events.replay.mutate({ ids: [String(_id)], reason: 'to have one' })
  await system.until(dead, ({ state, replays }) => state === 'dead' && replays?.length === 1)
  await providers.pause.mutate({ provider: 'shop', reason: 'to have one' })
  await events.close.mutate({ id: String(_id), reason: 'to have one' })
}

describe('docs/explanation/privacy.md', () => {
  it('lists every collection and every field that may contain personal data', async () => {
    await use()
    for (const [heading, db] of [
      ['gateway', database.db],
      ['fulfilment', system.fulfilment.db],
    ] as const) {
      const told = documented(heading)
      for (const [collection, fields] of await stored(db)) {
        if (fields.size === 0) continue
        const personal = [...fields].filter((name) => !NOT_PERSONAL[collection]?.includes(name))
        const untold = personal.filter((name) => !told.get(collection)?.has(name))
        expect({ collection, untold }).toEqual({ collection, untold: [] })
      }
      expect(told.size).toBeGreaterThan(1)
    }
  })
})
