import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, expect, it } from 'vitest'
import { requireTool } from '../../../../scripts/tools/find-tool.ts'
import { startPostgres } from '../../../../test/support/postgres/postgres-server.ts'
import { setUpMongo } from '../mongo/set-up-mongo.ts'
import { POSTGRES_SCHEMA } from '../postgres/postgres-schema.ts'
import { setUpPostgres } from '../postgres/set-up-postgres.ts'
import { runInit } from './run-init.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

async function init(...args: string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const [write, warn] = [(text: string) => void out.push(text), (text: string) => void err.push(text)]
  const status = await runInit(args, { write, warn, postgres: setUpPostgres, mongo: setUpMongo })
  return { status, out: out.join(''), err: err.join('') }
}

it('creates the tables in PostgreSQL, several times at once and again', async (context) => {
  const server = stack.use(await startPostgres(await requireTool('postgresql', context)))
  const url = await server.createDatabase('fresh')
  const both = await Promise.all([init('init', '--postgres', url), init('init', '--postgres', url)])
  const created = 'Created the table oncehook_keys\nCreated the table oncehook_outbox\n'
  const existing = 'The table oncehook_keys exists\nThe table oncehook_outbox exists\n'
  expect(both.map(({ status, out }) => [status, out]).toSorted()).toEqual([
    [0, created],
    [0, existing],
  ])
  expect(await init('init', '--postgres', url)).toEqual({ status: 0, out: existing, err: '' })
})

it('creates the collections in MongoDB, and can be run again', async () => {
  const { uri, name, db } = stack.use(await testDatabase(process.env))
  const url = new URL(uri.reveal())
  url.pathname = name
  const created = 'Created the collection oncehook_keys\nCreated the collection oncehook_outbox\n'
  expect(await init('init', '--mongo', url.href)).toEqual({ status: 0, out: created, err: '' })
  expect((await init('init', '--mongo', url.href)).out).toBe(
    created.replaceAll(/Created (.+)/g, (_, what) => `T${what.slice(1)} exists`),
  )
  const [, expiry] = await db.collection('oncehook_keys').indexes()
  expect(expiry).toMatchObject({ key: { expiresAt: 1 }, expireAfterSeconds: 0 })
})

it('prints the SQL', async () => {
  expect(await init('init', '--print')).toEqual({ status: 0, out: POSTGRES_SCHEMA, err: '' })
})

it.each([
  [],
  ['init'],
  ['help'],
  ['init', '--postgres', 'a', '--mongo', 'b'],
  ['init', '--sqlite', 'a'],
  ['init', '--postgres='],
])('shows how it is used when it is called as %j', async (...args) => {
  const { status, err } = await init(...args)
  expect([status, err.split('\n')[0]]).toEqual([2, 'Usage: npx @oncehook/handler init --postgres <url>'])
})

it('fails with a reason when the database does not answer', async () => {
  const { status, err } = await init('init', '--postgres', 'postgres://test@127.0.0.1:9/none')
  expect(status).toBe(1)
  expect(err).toContain('The database cannot be set up: ')
})
