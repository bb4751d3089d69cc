import { readFile } from 'node:fs/promises'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, expect, it, vi } from 'vitest'
import { startOperatedSystem } from '../testing/start-operated-system.ts'

vi.setConfig({ testTimeout: 60_000 })

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

/** Waits until gateway and fulfilment have these first keys. */
async function untilFirst(first: readonly [gateway: string, fulfilment: string]): Promise<void> {
  const firstKeys = async () => {
    const { gateway, fulfilment } = await encryption.status.query()
    return [gateway.firstKey, fulfilment.firstKey]
  }
  await expect.poll(firstKeys, { timeout: 20_000 }).toEqual(first)
}

it('is refused, and no key is let go, while fulfilment encrypts by another key than the gateway', async () => {
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

it('is refused where fulfilment gets another first key in the middle of it', async () => {
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
  for (let next: string | null = ''; next !== null; ) ({ next } = await encryption.rotate.mutate({ reason }))
})
