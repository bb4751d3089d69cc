import { afterAll, expect, it } from 'vitest'
import { SettingsError } from '../settings/settings.ts'
import { testDatabase } from '../testing/test-database.ts'
import { ensureFormat } from './database-format.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const used = { collection: 'events', setting: 'GATEWAY_DB' }
const OLD = new SettingsError(['GATEWAY_DB names a database of an earlier version: drop it, or name another one'])

it('marks an empty database, and accepts it from then on, with documents too', async () => {
  const { db } = stack.use(await testDatabase(process.env))
  await Promise.all(Array.from({ length: 20 }, () => ensureFormat(db, used)))
  await db.collection('events').insertOne({})
  await ensureFormat(db, used)
  expect(await db.collection('format').find().toArray()).toEqual([{ _id: 'format', version: 3 }])
})

it('refuses a database that has documents and no mark', async () => {
  const { db } = stack.use(await testDatabase(process.env))
  await db.collection('events').insertOne({})
  await expect(ensureFormat(db, used)).rejects.toThrow(OLD)
  expect(await db.collection('format').countDocuments()).toBe(0)
})

it('refuses a database of another format', async () => {
  const { db } = stack.use(await testDatabase(process.env))
  await db.collection<{ _id: string }>('format').insertOne({ _id: 'format', version: 2 } as never)
  await expect(ensureFormat(db, used)).rejects.toThrow(OLD)
})
