import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { buildHandler } from '../../scripts/packages/build-handler.ts'
import { buildWebhooks } from '../../scripts/packages/build-webhooks.ts'
import { requireTool } from '../../scripts/tools/find-tool.ts'
import { findPackageProblems, installPackage } from '../support/install-package.ts'
import { startPostgres } from '../support/postgres/postgres-server.ts'
import { requireNode } from '../support/require-node.ts'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`

/** `pg` with all that it needs, the official signer, and what our packages depend on. */
const DEPENDENCIES = [
  ...['zod', 'standardwebhooks', '@stablelib/base64', 'fast-sha256'],
  ...['pg', 'pg-cloudflare', 'pg-connection-string', 'pg-pool', 'pg-protocol', 'pg-types', 'pgpass', 'split2'],
  ...['pg-int8', 'postgres-array', 'postgres-bytea', 'postgres-date', 'postgres-interval', 'xtend'],
]
const webhooks = (built: string): Promise<void> => buildWebhooks(repository, built)
const installed = stack.use(
  await installPackage((built) => buildHandler(repository, built), [webhooks, ...DEPENDENCIES]),
)
const { folder } = installed

const LINES = `
const [, , url, secret, key] = process.argv
const pair = generateKeyPairSync('ed25519')
const pool = new pg.Pool({ connectionString: url })
const handler = createHandler({
  name: 'packed',
  store: postgres(pool),
  secrets: secret,
  trpc: { publicKeys: String(pair.publicKey.export({ type: 'spki', format: 'pem' })) },
  on: { 'invoice.*': (event, tx) => tx.query('insert into paid (id) values ($1)', [event.objectId]) },
})
async function main() {
  const port = await handler.listen(0)
  const body = '{"type":"invoice.paid","data":{"id":"in_1"}}'
  const at = new Date()
  const headers = {
    'content-type': 'application/json',
    'webhook-id': key,
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(secret).sign(key, at, body),
  }
  for (const _ of [1, 2]) {
    const answer = await fetch('http://127.0.0.1:' + port + '/webhooks', { method: 'POST', headers, body })
    console.log(answer.status, await answer.text())
  }
  const call = '{"handler":"packed","events":[{"attempt":1,"key":"' + key + '_2","type":"invoice.paid"}]}'
  const bsh = createHash('sha256').update(call).digest('base64url')
  const iat = Math.floor(at / 1000)
  const claims = { iss: 'gateway', aud: 'packed', iat, exp: iat + 60, jti: key, proc: 'events.handle', bsh }
  const parts = [{ alg: 'EdDSA', typ: 'oncehook-call+jwt' }, claims]
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign(null, Buffer.from(text), pair.privateKey).toString('base64url')
  const answer = await fetch('http://127.0.0.1:' + port + '/trpc/events.handle', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ' + text + '.' + signature },
    body: call,
  })
  console.log(answer.status, await answer.text())
  await handler.close()
  await pool.end()
}
main()
`
const PROGRAMS = {
  'program.mjs': `import { createHandler } from '@oncehook/handler'
import { postgres } from '@oncehook/handler/postgres'
import pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'${LINES}`,
  'program.cjs': `const { createHandler } = require('@oncehook/handler')
const { postgres } = require('@oncehook/handler/postgres')
const pg = require('pg')
const { Webhook } = require('standardwebhooks')
const { createHash, generateKeyPairSync, sign } = require('node:crypto')${LINES}`,
}

const TYPED = `
import { createHandler, type Handler, type HandlerOptions, Refusal } from '@oncehook/handler'
import { postgres, type PostgresTransaction } from '@oncehook/handler/postgres'
import { mongo } from '@oncehook/handler/mongo'
import { MongoClient } from 'mongodb'
import { Pool, type PoolClient } from 'pg'
const secrets = 'whsec_0123456789abcdef0123456789abcdef'
export const first: Handler = createHandler({
  ...{ name: 'typed', store: postgres(new Pool()), secrets, later: { mail: ({ key, payload, signal }) => fetch(key, { signal }) } },
  on: {
    async 'a.*'(event, tx) {
      const { rows } = await tx.query<{ id: string }>('select id from a where id = $1', [event.objectId])
      if (rows[0] === undefined) throw new Refusal('later', 'Not yet', { afterSeconds: 5 })
      tx.later('mail', { to: rows[0].id })
      const client: PoolClient = tx.client
      await client.query('select 1')
    },
  },
})
export const second = createHandler({
  name: 'typed',
  store: mongo(new MongoClient('mongodb://127.0.0.1')),
  secrets: [{ value: secrets, notAfter: new Date() }],
  on: { '*': async (event, { db, session }) => void (await db.collection('a').insertOne({ key: event.key }, { session })) },
})
export const third = createHandler({
  ...{ name: 'typed', store: postgres(new Pool()), on: {} },
  trpc: { publicKeys: secrets, audience: 'other', path: '/rpc', maxBytes: 1_000, answerMs: 5_000 },
})
// @ts-expect-error A handler needs a name.
createHandler({ store: postgres(new Pool()), secrets, on: {} })
export const options: Partial<HandlerOptions<PostgresTransaction<PoolClient>>> = {}
// @ts-expect-error A handler needs a store.
createHandler({ name: 'typed', secrets, on: {} })
`

describe('the packed @oncehook/handler', () => {
  it('is smaller than 300 kB without its README, and needs no driver that its user does not have', async () => {
    const read = (file: string): Promise<Buffer> => readFile(join(folder, 'node_modules/@oncehook/handler', file))
    expect(installed.unpackedBytes - (await read('README.md')).byteLength).toBeLessThan(300_000)
    const manifest = JSON.parse((await read('package.json')).toString())
    expect(Object.keys(manifest.dependencies)).toEqual(['@oncehook/webhooks'])
    expect(manifest.peerDependenciesMeta).toEqual({ mongodb: { optional: true }, pg: { optional: true } })
    expect(Object.keys(manifest).filter((name) => /private|scripts|devDependencies/.test(name))).toEqual([])
  })

  it('is what publint and Are The Types Wrong recommend', async () => {
    expect(await findPackageProblems(installed.tarball)).toEqual([])
  })

  it('is typed for both databases', async () => {
    // Only the types of the drivers are needed, and those of mongodb are in its package.
    for (const file of ['typed.mts', 'typed.cts']) await writeFile(join(folder, file), TYPED)
    const paths = {
      mongodb: [join(repository, 'node_modules/mongodb/mongodb.d.ts')],
      pg: [join(repository, 'node_modules/@types/pg/index.d.ts')],
    }
    const config = {
      compilerOptions: {
        ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: true, paths },
        ...{ module: 'nodenext', types: ['node'], typeRoots: [join(repository, 'node_modules/@types')] },
      },
      files: ['typed.mts', 'typed.cts'],
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = [join(repository, 'node_modules/typescript/bin/tsc'), '--project', 'tsconfig.json']
    await expect(run(process.execPath, tsc, { cwd: folder })).resolves.toMatchObject({ stdout: '' })
  })

  it.for([20, 22, 24].flatMap((major) => Object.keys(PROGRAMS).map((name) => [major, name] as const)))(
    'acts once on a delivery and on a call, on Node.js %i: %s',
    async ([major, name], context) => {
      const node = await requireNode(major, context)
      const url = await prepared(await requireTool('postgresql', context))
      await writeFile(join(folder, name), PROGRAMS[name as keyof typeof PROGRAMS])
      const { stdout, stderr } = await run(node, [name, url, SECRET, `${major}_${name.slice(-3)}`], { cwd: folder })
      const [first, second] = ['false', 'true'].map((repeated) => `200 {"outcome":"done","repeated":${repeated}}\n`)
      const called = '200 {"result":{"data":{"results":[{"done":true}]}}}\n'
      expect(stdout).toBe(`${first}${second}${called}`)
      // Older versions say once that they can verify Ed25519 for a while only.
      expect(stderr).toMatch(
        major === 24 ? /^$/ : /^(\(node:\d+\) ExperimentalWarning: The Ed25519 Web Crypto.*\n.*\n)?$/,
      )
    },
  )
})

let database: Promise<string> | undefined

/** Starts PostgreSQL when it is first called, and sets it up with the installed command. Returns the URL of the database. */
function prepared(programs: string): Promise<string> {
  database ??= prepare(programs)
  return database
}

async function prepare(programs: string): Promise<string> {
  const { url } = stack.use(await startPostgres(programs))
  const init = ['--offline', '--no', '--', 'oncehook-handler', 'init', '--postgres', url]
  const { stdout } = await run('npx', init, { cwd: folder })
  expect(stdout).toBe('Created the table oncehook_keys\nCreated the table oncehook_outbox\n')
  const pool = new pg.Pool({ connectionString: url })
  await pool.query('create table paid (id text)')
  await pool.end()
  return url
}
