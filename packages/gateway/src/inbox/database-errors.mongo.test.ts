import { randomUUID } from 'node:crypto'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { Registry } from 'prom-client'
import { afterAll, expect, it } from 'vitest'
import { openInbox, sampleArrival } from '../testing/open-inbox.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))

it.each([
  ['the server refuses', { errorCode: 8000 }, 'server_8000'],
  ['no majority confirms', { writeConcernError: { code: 64, errmsg: 'waiting timed out' } }, 'write_concern_64'],
  ['the connection breaks', { closeConnection: true }, 'MongoNetworkError'],
])('counts an insert that fails because %s', async (_, how, errorClass) => {
  const registry = new Registry()
  await using open = await openInbox(database, { errors: createDatabaseErrors(registry) })
  {
    await using __ = await armFailPoint(database.uri, { commands: ['insert'], appName: open.appName, how })
    expect(await open.inbox.record(sampleArrival(randomUUID()))).toBe('not_stored')
  }
  const id = randomUUID()
  expect(await open.inbox.record(sampleArrival(id))).toBe('recorded')
  expect(await registry.metrics()).toContain(`oncehook_database_errors_total{class="${errorClass}"} 1\n`)
})

it('counts no duplicate', async () => {
  const registry = new Registry()
  await using first = await openInbox(database)
  await using open = await openInbox(database, { errors: createDatabaseErrors(registry) })
  const id = randomUUID()
  await first.inbox.record(sampleArrival(id))
  expect(await open.inbox.record(sampleArrival(id))).toBe('duplicate')
  expect(await registry.metrics()).not.toContain('oncehook_database_errors_total{')
})
