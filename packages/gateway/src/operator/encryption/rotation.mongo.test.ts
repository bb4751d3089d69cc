import { readFile } from 'node:fs/promises'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile, endLeaving } from '@oncehook/kernel/testing/test-encryption'
import type { Db } from 'mongodb'
import { afterAll, expect, it } from 'vitest'
import { startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const here = stack.use(await createTestKeysFile('old'))
const there = stack.use(await createTestKeysFile())
await there.write(await readFile(here.path, 'utf8'))
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

async function rotateAll(): Promise<void> {
  for (let next: string | null = ''; next !== null; ) ({ next } = await encryption.rotate.mutate({ reason }))
}

async function rotatedEntries() {
  const { items } = await audit.list.query({ limit: 100 })
  return items.filter(({ action }) => action === 'encryption.rotated')
}

it('is refused, and no key is retired, while fulfilment encrypts with another key than the gateway', async () => {
  await system.order()
  await expect.poll(() => system.fulfilment.db.collection('encryption_keys').countDocuments()).toBe(1)
  await here.write(['new', 'old'])
  await untilFirst(['new', 'old'])
  for (const dryRun of [true, false]) {
    const position = dryRun ? { position: 'orders:' } : {}
    const refusal = await refusalOf(encryption.rotate.mutate({ reason, dryRun, ...position }))
    expect(refusal).toMatchObject({ reason: 'encryption_key_differs', retry: 'later' })
  }
  expect(await system.fulfilment.db.collection('encryption_keys').distinct('_id')).toEqual(['old'])
  expect((await audit.list.query({ limit: 10 })).items.map(({ action }) => action)).not.toContain('encryption.rotated')
})

it('is refused if fulfilment gets another first key during the rotation', async () => {
  await there.write(await readFile(here.path, 'utf8'))
  await untilFirst(['new', 'new'])
  const begun = await encryption.rotate.mutate({ reason })
  expect(begun).toMatchObject({ key: 'new', next: 'bodies:' })
  const { new: newest, old } = JSON.parse(await readFile(here.path, 'utf8'))
  await there.write(JSON.stringify({ old, new: newest }))
  await untilFirst(['new', 'old'])
  expect(await encryption.rotate.mutate({ reason })).toMatchObject({ next: 'orders:' })
  expect(await refusalOf(encryption.rotate.mutate({ reason }))).toMatchObject({ reason: 'encryption_key_differs' })
  await there.write(await readFile(here.path, 'utf8'))
  await untilFirst(['new', 'new'])
  await rotateAll()
})

it('begins half a minute after the last process has replaced the former key, and examines nothing before', async () => {
  for (const file of [here, there]) await file.write(['newer', 'new'])
  const changed = { firstKey: 'newer', leaving: ['new'] }
  await expect.poll(() => encryption.status.query()).toMatchObject({ gateway: changed, fulfilment: changed })
  expect(await encryption.rotate.mutate({ reason })).toMatchObject({ key: 'newer', examined: 0, next: 'events:' })
  await untilFirst(['newer', 'newer'])
  expect(await encryption.rotate.mutate({ reason })).toMatchObject({ next: 'bodies:' })
  await rotateAll()
})

it('is one, however many ask for it at the same time', async () => {
  for (const file of [here, there]) await file.write(['newest', 'newer'])
  await untilFirst(['newest', 'newest'])
  const before = (await rotatedEntries()).length
  await Promise.all(Array.from({ length: 4 }, rotateAll))
  const entries = (await rotatedEntries()).slice(0, -before)
  const owned = (db: Db, names: readonly string[]) => names.map((name) => db.collection(name).countDocuments())
  const counts = await Promise.all([
    ...owned(database.db, ['events', 'bodies']),
    ...owned(system.fulfilment.db, ['orders', 'idempotency_keys']),
  ])
  const examined = counts.reduce((sum, count) => sum + count, 0)
  for (const { details } of entries) expect(details).toMatchObject({ key: 'newest', examined, unknown: 0, inUse: [] })
  expect(new Set(entries.flatMap(({ details }) => details?.retired))).toEqual(new Set(['newer']))

  // Several run the last part at the same time.
  const rotations = database.db.collection<{ _id: string }>('rotations')
  const atLast = { $set: { position: 'idempotency_keys:', finishedAt: null, startedAt: new Date() } }
  await rotations.updateOne({ _id: 'last' }, atLast)
  await Promise.all(Array.from({ length: 4 }, () => encryption.rotate.mutate({ reason })))
  expect(await rotatedEntries()).toHaveLength(before + entries.length + 1)
})
