import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile, endLeaving } from '@oncehook/kernel/testing/test-encryption'
import type { Db } from 'mongodb'
import { afterAll, expect, it } from 'vitest'
import { startOperatedSystem } from '../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
// All ids so far. The first one is that of both services between the tests.
const keys = ['key_0']
const here = stack.use(await createTestKeysFile(...keys))
const there = stack.use(await createTestKeysFile(...keys))
const system = stack.use(
  await startOperatedSystem(database, {
    settings: { ENCRYPTION_KEYS_FILE: here.path },
    encryptionKeysFile: there.path,
  }),
)
const { encryption, audit } = system.operator()
const reason = 'a change of keys'

/** Waits until gateway and fulfilment have these first keys, and have left the others for long enough. */
async function untilFirst(first: readonly [gateway: string, fulfilment: string]): Promise<void> {
  const firstKeys = async () => {
    const { gateway, fulfilment } = await encryption.status.query()
    return [gateway.firstKey, fulfilment.firstKey]
  }
  await expect.poll(firstKeys).toEqual(first)
  await endLeaving(database.db)
  await endLeaving(system.fulfilment.db)
}

/** Both services have the latest key as their first one. Resolves to its id. */
async function settle(): Promise<string> {
  const [key = ''] = keys
  for (const file of [here, there]) await file.write(keys)
  await untilFirst([key, key])
  return key
}

function addKey(): string {
  const key = `key_${keys.length}`
  keys.unshift(key)
  return key
}

async function rotateAll(): Promise<void> {
  for (let next: string | null = ''; next !== null; ) ({ next } = await encryption.rotate.mutate({ reason }))
}

async function rotatedEntries() {
  const { items } = await audit.list.query({ limit: 100 })
  return items.filter(({ action }) => action === 'encryption.rotated')
}

it('is refused, and no key is retired, while fulfilment encrypts with another key than the gateway', async () => {
  await system.order()
  const former = await settle()
  const key = addKey()
  await here.write(keys)
  await untilFirst([key, former])
  const registered = () => system.fulfilment.db.collection('encryption_keys').distinct('_id')
  const [before, entries] = [await registered(), await rotatedEntries()]
  expect(before).toContain(former)
  for (const dryRun of [true, false]) {
    const position = dryRun ? { position: 'orders:' } : {}
    const refusal = await refusalOf(encryption.rotate.mutate({ reason, dryRun, ...position }))
    expect(refusal).toMatchObject({ reason: 'encryption_key_differs', retry: 'later' })
  }
  expect(await registered()).toEqual(before)
  expect(await rotatedEntries()).toEqual(entries)
})

it('begins half a minute after the last process has replaced the former key, and examines nothing before', async () => {
  const former = await settle()
  const key = addKey()
  for (const file of [here, there]) await file.write(keys)
  const changed = { firstKey: key, leaving: [former] }
  await expect.poll(() => encryption.status.query()).toMatchObject({ gateway: changed, fulfilment: changed })
  expect(await encryption.rotate.mutate({ reason })).toMatchObject({ key, examined: 0, next: 'events:' })
  await settle()
  expect(await encryption.rotate.mutate({ reason })).toMatchObject({ next: 'bodies:' })
  await rotateAll()
})

it('is one, however many ask for it at the same time', async () => {
  await system.order()
  const former = await settle()
  const key = addKey()
  await settle()
  const databases = [database.db, system.fulfilment.db]
  const registered = await Promise.all(databases.map((db) => db.collection('encryption_keys').distinct('_id')))
  const others = new Set<unknown>(registered.flat().filter((id) => String(id) !== key))
  expect(others).toContain(former)
  const before = (await rotatedEntries()).length
  await Promise.all(Array.from({ length: 4 }, rotateAll))
  const all = await rotatedEntries()
  const entries = all.slice(0, all.length - before)
  const owned = (db: Db, names: readonly string[]) => names.map((name) => db.collection(name).countDocuments())
  const counts = await Promise.all([
    ...owned(database.db, ['events', 'bodies']),
    ...owned(system.fulfilment.db, ['orders', 'idempotency_keys']),
  ])
  const examined = counts.reduce((sum, count) => sum + count, 0)
  for (const { details } of entries) expect(details).toMatchObject({ key, examined, unknown: 0, inUse: [] })
  expect(new Set(entries.flatMap(({ details }) => details?.retired))).toEqual(others)

  // Several run the last part at the same time.
  const rotations = database.db.collection<{ _id: string }>('rotations')
  const atLast = { $set: { position: 'idempotency_keys:', finishedAt: null, startedAt: new Date() } }
  await rotations.updateOne({ _id: 'last' }, atLast)
  await Promise.all(Array.from({ length: 4 }, () => encryption.rotate.mutate({ reason })))
  expect(await rotatedEntries()).toHaveLength(before + entries.length + 1)
})
