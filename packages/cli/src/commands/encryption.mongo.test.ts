import { randomUUID } from 'node:crypto'
import { BODIES, type BodyDocument } from '@oncehook/gateway/inbox/bodies'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import {
  DEAD_SOON,
  type OperatedSystem,
  paymentEvent,
  startOperatedSystem,
} from '@oncehook/gateway/testing/start-operated-system'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile, endLeaving, type TestKeysFile } from '@oncehook/kernel/testing/test-encryption'
import { Binary, BSON, type Db } from 'mongodb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CliContext } from '../command.ts'
import type { Finding } from '../doctor/finding.ts'
import { makeDataFolder, runCommand } from '../testing/run-command.ts'

let stack: AsyncDisposableStack
let database: TestDatabase
let file: TestKeysFile
let system: OperatedSystem
let fulfilmentDb: Db
let folder: Awaited<ReturnType<typeof makeDataFolder>>

const CANARY = 'canary-of-a-person'
const why = ['--reason', 'the yearly change of keys']

interface Rotated {
  readonly key: string
  readonly examined: number
  readonly changed: number
  readonly unknown: number
}

async function rotate(args: readonly string[] = [], overrides: Partial<CliContext> = {}) {
  const { exitCode, stdout, stderr } = await runCommand(['encryption', 'rotate', ...why, '--json', ...args], {
    ...folder,
    ...overrides,
  })
  const answer: Rotated | null = stdout === '' ? null : JSON.parse(stdout)
  return { exitCode, stderr, ...answer }
}

async function diagnose(): Promise<Finding | undefined> {
  const { stdout } = await runCommand(['doctor', '--json'], folder)
  const { findings }: { findings: Finding[] } = JSON.parse(stdout)
  return findings.find(({ check }) => check === 'encryption')
}

/** Writes the file, and waits until both services have its first key. */
async function write(...ids: string[]): Promise<void> {
  await file.write(ids)
  const status = async () => {
    const { gateway, fulfilment } = await system.operator().encryption.status.query()
    return [gateway.keys, fulfilment.keys]
  }
  await expect.poll(status).toEqual([ids, ids])
  // Otherwise a rotation would wait.
  await endLeaving(database.db)
  await endLeaving(fulfilmentDb)
}

/** Collection -> how many of its documents hold a text anywhere, as bytes. */
async function countText(db: Db, text: string): Promise<Record<string, number>> {
  const collections = await db.listCollections({}, { nameOnly: true }).toArray()
  const found = collections.map(async ({ name }) => {
    const documents = await db.collection(name).find().toArray()
    return [name, documents.filter((one) => Buffer.from(BSON.serialize(one)).includes(text)).length] as const
  })
  return Object.fromEntries((await Promise.all(found)).filter(([, count]) => count > 0))
}

/** The ids of the keys that anything in both databases is encrypted by. */
async function keysInUse(): Promise<string[]> {
  const ids = new Set<string>()
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof Binary) return
    if ('wrapped' in value && 'key' in value) ids.add(String(value.key))
    for (const inner of Object.values(value)) collect(inner)
  }
  for (const db of [database.db, fulfilmentDb]) {
    const collections = await db.listCollections({}, { nameOnly: true }).toArray()
    for (const { name } of collections) collect(await db.collection(name).find().toArray())
  }
  return [...ids].toSorted()
}

async function makeOrder(id: string): Promise<void> {
  const items = [{ sku: 'book', quantity: 2, unitAmount: 150 }]
  const order = { customerId: 'cus_1', currency: 'EUR', items, email: `${CANARY}@example.com`, note: CANARY }
  const response = await fetch(`${system.gateway.url}/api/orders`, {
    method: 'POST',
    body: JSON.stringify({ ...order, metadata: { name: CANARY } }),
    headers: {
      ...{ authorization: `Bearer ${system.tokens.api}`, 'content-type': 'application/json' },
      'idempotency-key': `"${id}"`,
    },
  })
  expect(response.status).toBe(201)
  const { id: orderId }: { id: string } = JSON.parse(await response.text())
  const eventId = randomUUID()
  await system.deliver(paymentEvent(eventId, { orderId, payer: CANARY }))
  await system.until(eventId, ({ state }) => state === 'done')
}

describe('encryption at rest', () => {
  // What a rotation finds and counts is all that both databases hold.
  beforeEach(async () => {
    stack = new AsyncDisposableStack()
    database = stack.use(await testDatabase(process.env))
    file = stack.use(await createTestKeysFile('old'))
    const settings = { ENCRYPTION_KEYS_FILE: file.path, ...DEAD_SOON }
    system = stack.use(await startOperatedSystem(database, { settings, encryptionKeysFile: file.path }))
    fulfilmentDb = system.fulfilment.db
    const { url, adminUrl } = system.gateway
    const { api: apiToken, operators } = system.tokens
    folder = stack.use(await makeDataFolder(url, { adminUrl, apiToken, operatorToken: operators.alice }))
    await Promise.all([makeOrder('first'), makeOrder('second')])
    for (const db of [database.db, fulfilmentDb]) {
      await expect.poll(() => db.collection('encryption_keys').countDocuments()).toBe(1)
    }
  })
  afterEach(() => stack.disposeAsync())

  it('shows in doctor that a key is missing', async () => {
    await write('new')
    expect(await diagnose()).toMatchObject({
      level: 'failure',
      message: expect.stringContaining('(key_unknown): old of the gateway, old of fulfilment'),
    })
    const { exitCode, changed, unknown } = await rotate(['--dry-run'])
    expect([exitCode, changed]).toEqual([1, 0])
    expect(unknown).toBeGreaterThan(0)
    // A rotation without the old key does no harm, and lets no key go.
    expect(await rotate()).toMatchObject({ exitCode: 1, changed: 0, unknown })
    expect(await diagnose()).toMatchObject({ level: 'failure' })
    await write('new', 'old')
    expect(await diagnose()).toMatchObject({ level: 'ok', message: 'On, with the key new' })
  })

  it('leaves no personal data unencrypted, is rotated after a dry run, plaintext records included, and the old key can leave the file', async () => {
    expect(await countText(database.db, CANARY)).toEqual({})
    expect(await countText(fulfilmentDb, CANARY)).toEqual({})
    expect(await diagnose()).toMatchObject({ level: 'ok', message: 'On, with the key old' })
    await write('new', 'old')
    // As a process without keys stores them.
    const raw = new Binary(Buffer.from(`{"name":"${CANARY}"}`))
    await system.events.insertOne(
      sampleRecord({ state: 'dead', reason: 'some', eventId: 'clear', raw, headers: { a: CANARY } }),
    )
    const bodies = database.db.collection<BodyDocument>(BODIES)
    await bodies.insertOne({ _id: 'acme:hash', raw, checkAt: new Date(Date.now() + 3_600_000) })
    const orders = fulfilmentDb.collection<{ _id: string }>('orders')
    const [one] = await orders.find().limit(1).toArray()
    const metadata = [{ name: 'name', value: CANARY }]
    const clear = { email: `${CANARY}@example.com`, note: CANARY, metadata, paidBy: [], receipts: [] }
    await orders.insertOne({ ...one, ...clear, _id: 'ord_clear' })

    const planned = await rotate(['--dry-run'])
    expect(planned).toMatchObject({ exitCode: 0, key: 'new', unknown: 0 })
    expect(planned.changed).toBeGreaterThanOrEqual(8)
    expect(await keysInUse()).toEqual(['old'])
    const done = await rotate()
    expect(done).toMatchObject({ exitCode: 0, changed: planned.changed, unknown: 0 })
    expect(await keysInUse()).toEqual(['new'])
    expect(await countText(database.db, CANARY)).toEqual({})
    expect(await countText(fulfilmentDb, CANARY)).toEqual({})
    expect(await rotate(['--dry-run'])).toMatchObject({ exitCode: 0, changed: 0 })
    expect(await rotate()).toMatchObject({ exitCode: 0, changed: 0 })

    await write('new')
    expect(await diagnose()).toMatchObject({ level: 'ok', message: 'On, with the key new' })
    const { events } = system.operator()
    const { items } = await events.list.query({ limit: 100 })
    for (const { id } of items) expect((await events.get.query({ id, body: true })).bytes).toBeGreaterThan(0)
    const list = await fetch(`${system.gateway.url}/api/orders?limit=10`, {
      headers: { authorization: `Bearer ${system.tokens.api}` },
    })
    expect(await list.text()).toContain(CANARY)
  })

  it('is completed by a second command if the first was killed', async () => {
    await write('new', 'old')
    const records = Array.from({ length: 600 }, () =>
      sampleRecord({ raw: new Binary(Buffer.from(CANARY)), headers: { a: CANARY } }),
    )
    await system.events.insertMany(records)
    let calls = 0
    const dying: typeof fetch = async (input, init) => {
      if (String(input).includes('encryption.rotate')) calls += 1
      if (calls > 1) throw new Error('The command was killed')
      return fetch(input, init)
    }
    expect((await rotate([], { fetch: dying })).exitCode).toBe(1)
    const left = (await countText(database.db, CANARY)).events ?? 0
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThan(600)
    const rest = await rotate()
    expect(rest.exitCode).toBe(0)
    // The second run continues where the first one stopped, and shows the counts of both.
    expect(rest.examined).toBeGreaterThanOrEqual(600)
    expect(await countText(database.db, CANARY)).toEqual({})
    expect(await keysInUse()).toEqual(['new'])
    const { items } = await system.operator().audit.list.query()
    const rotations = items.filter(({ action }) => action.startsWith('encryption.'))
    // One rotation only.
    expect(rotations.map(({ action, details }) => [action, details])).toMatchObject([
      ['encryption.rotated', { key: 'new', unknown: 0, retired: ['old'] }],
      ['encryption.rotate', { key: 'new' }],
    ])
  })

  it('exits with 1 if the command that was interrupted has found missing keys, and counts the whole rotation', async () => {
    const orders = fulfilmentDb.collection<{ _id: string; email?: object }>('orders')
    const one = await orders.findOne({ 'email.key': 'old' })
    const lost = Array.from({ length: 5 }, (_, n) => ({
      ...{ _id: `ord_lost_${n}`, version: 1, status: 'pending', receipts: [] },
      email: { ...one?.email, key: 'lost' },
    }))
    await orders.insertMany(lost)
    let isKilled = false
    const dying: typeof fetch = async (input, init) => {
      if (isKilled) throw new Error('The command was killed')
      const response = await fetch(input, init)
      isKilled = (await response.clone().text()).includes('"next":"idempotency_keys:"')
      return response
    }
    expect((await rotate([], { fetch: dying })).exitCode).toBe(1)
    expect(isKilled).toBe(true)
    const { exitCode, unknown, examined, changed } = await rotate()
    expect([exitCode, unknown]).toEqual([1, 5])
    const { items } = await system.operator().audit.list.query({ limit: 1 })
    expect(items).toMatchObject([{ action: 'encryption.rotated', details: { unknown: 5, examined, changed } }])
    await orders.deleteMany({ _id: /^ord_lost_/ })
    expect(await rotate()).toMatchObject({ exitCode: 0, unknown: 0 })
  })
})
