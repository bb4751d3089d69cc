import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:http'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { ObjectId } from 'mongodb'
import * as undici from 'undici'
import { afterAll, describe, expect, it } from 'vitest'
import { startGateway } from '../testing/start-gateway.ts'
import {
  createOperatorClient,
  DEAD_SOON,
  paymentEvent,
  startOperatedSystem,
  TOKENS,
} from '../testing/start-operated-system.ts'
import { operatorRouter } from './operator-router.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const settings = { ...DEAD_SOON, PRIVATE_NAMES: 'hooks.example, Oncehook.internal' }
const system = stack.use(await startOperatedSystem(database, { settings }))
const authorization = `Bearer ${system.tokens.operators.alice}`

const PROCEDURES = Object.entries(
  operatorRouter._def.procedures as unknown as Record<string, { _def: { type: 'query' | 'mutation' } }>,
).map(([name, { _def }]) => [_def.type === 'query' ? 'GET' : 'POST', name] as const)

function request(method: string, headers: Record<string, string> = {}, body = '{}'): RequestInit {
  return method === 'GET' ? { headers } : { method, headers: { 'content-type': 'application/json', ...headers }, body }
}

describe('the token of an operator', () => {
  async function ask(method: string, name: string, token?: string) {
    const answer = await system.call(
      `/operator/${name}`,
      request(method, token === undefined ? {} : { authorization: token }),
    )
    const itsOwn = ['date', 'x-request-id', 'content-length']
    const headers = Object.fromEntries([...answer.headers].filter(([header]) => !itsOwn.includes(header)))
    return {
      status: answer.status,
      body: JSON.parse(answer.body.replace(`"path":"${name}"`, '"path":""')) as unknown,
      headers,
    }
  }

  it('is needed for every procedure, and a caller without one learns nothing', async () => {
    const { alice } = system.tokens.operators
    const wrong = ['', 'Bearer', 'Bearer ', 'Bearer wrong', `Bearer ${alice}x`, `Bearer ${alice.slice(0, -1)}`]
    wrong.push(`Bearer ${alice} ${alice}`, `Bearer ${system.tokens.api}`, `Basic ${alice}`, alice, 'Bearer alice')
    // What a handler has, and what it gets.
    const issued = await system.fulfilment.tokens.issue({ procedure: 'events.replay', input: '{}' })
    wrong.push(`Bearer whsec_${Buffer.alloc(32, 'x').toString('base64')}`, `Bearer ${issued}`)
    const told = await Promise.all([
      ...PROCEDURES.map(([method, name]) => ask(method, name)),
      ...wrong.flatMap((token) => [ask('GET', 'events.get', token), ask('POST', 'events.replay', token)]),
    ])
    for (const answer of told) expect(answer).toEqual(told[0])
    expect(told[0]).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer', 'cache-control': 'no-store' },
      body: { error: { message: 'A valid token is required', data: { code: 'UNAUTHORIZED' } } },
    })
  })

  it('is compared by its case, its scheme is not', async () => {
    const upper = await system.call('/operator/overview', { headers: { authorization: authorization.toUpperCase() } })
    expect(upper.status).toBe(401)
    const scheme = authorization.replace('Bearer', 'bEARER')
    expect((await system.call('/operator/overview', { headers: { authorization: scheme } })).status).toBe(200)
  })

  it('opens nothing on the public listener, nor does that of the orders API on this one', async () => {
    for (const path of ['/operator/overview', '/metrics', '/readyz', '/livez']) {
      expect((await fetch(`${system.gateway.url}${path}`, { headers: { authorization } })).status).toBe(404)
    }
    expect((await fetch(`${system.gateway.url}/api/orders`, { headers: { authorization } })).status).toBe(401)
  })
})

describe('the name by which the listener is called', () => {
  const PATHS = ['/metrics', '/livez', '/', '/operator/overview', '/sign-in/issuer']
  const { port } = new URL(system.gateway.adminUrl)
  const statusOf = async (path: string, host: string) => {
    const { statusCode, body } = await undici.request(`${system.gateway.adminUrl}${path}`, {
      headers: { host, authorization },
    })
    return { statusCode, body: await body.text() }
  }

  it('is refused if it is not one of its own', async () => {
    for (const path of PATHS) {
      const { statusCode, body } = await statusOf(path, 'hooks.example.evil.example')
      expect({ path, statusCode, body }).toEqual({
        path,
        statusCode: 421,
        body: expect.stringContaining('host_unknown'),
      })
      expect(body).not.toContain('evil')
    }
  })

  it.each([`127.0.0.1:${port}`, 'localhost', `Hooks.Example:${port}`, 'oncehook.internal:8081'])(
    'may be an address, localhost, or a name of the setting: %s',
    async (host) => {
      expect((await statusOf('/metrics', host)).statusCode).toBe(200)
      expect((await statusOf('/operator/overview', host)).statusCode).toBe(200)
    },
  )
})

describe('a stranger on the private listener', () => {
  it.each([
    ['a path of nothing', '/nothing', {}],
    ['a sign-in that is no JSON', '/sign-in', { method: 'POST', body: '{' }],
    ['a method that nobody offers', '/operator/overview', { method: 'PROPFIND' }],
  ])('writes no line of an error by %s', async (_, path, init) => {
    const before = system.gateway.logs.length
    expect((await system.call(path, init)).status).toBeLessThan(502)
    expect(system.gateway.logs.slice(before).filter(({ level }) => level === 'error')).toEqual([])
  })

  it.each(['/operator/../123456789audit.list', '/nothing/../operator/audit.list', '/operator/%61udit.list/.'])(
    'is not led elsewhere by %s, nor is an operator',
    async (path) => {
      expect(await rawStatus(path)).toBe(404)
    },
  )
})

/** The status of a GET by an operator, with the path as it is written. */
async function rawStatus(path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(system.gateway.adminUrl)
  const [answer] = await once(get({ hostname, port, path, headers: { authorization } }), 'response')
  answer.resume()
  return answer.statusCode
}

describe('what is sent to the operator API', () => {
  it.each([
    ['a body beyond 1 MiB', { reason: 'x'.repeat(1_048_576) }, 413],
    ['a body that is no object', [], 400],
    ['an unknown member', { ids: ['0'.repeat(24)], reason: 'a reason', also: 1 }, 400],
  ])('is refused: %s', async (_, body, status) => {
    const init = request('POST', { authorization }, JSON.stringify(body))
    expect((await system.call('/operator/events.replay', init)).status).toBe(status)
  })

  it('is refused if it is too large, before the sender is authenticated', async () => {
    const init = request('POST', {}, JSON.stringify({ reason: 'x'.repeat(1_048_576) }))
    expect((await system.call('/operator/events.replay', init)).status).toBe(413)
  })

  it.each([
    ['broken JSON', { body: '{"ids":', type: 'application/json' }, 400],
    ['a member that occurs twice', { body: '{"reason":"one","reason":"two"}', type: 'application/json' }, 400],
    ['another media type', { body: '{}', type: 'text/plain' }, 415],
    ['a form', { body: 'a=b', type: 'application/x-www-form-urlencoded' }, 415],
  ])('is refused: %s', async (_, { body, type }, status) => {
    const init = { method: 'POST', headers: { authorization, 'content-type': type }, body }
    expect((await system.call('/operator/events.replay', init)).status).toBe(status)
  })

  it('changes nothing by GET, and is not read in batches', async () => {
    const input = encodeURIComponent(JSON.stringify({ replayId: '0'.repeat(24) }))
    expect((await system.call(`/operator/replays.cancel?input=${input}`, { headers: { authorization } })).status).toBe(
      405,
    )
    const batch = await system.call('/operator/overview,audit.list?batch=1', { headers: { authorization } })
    expect(batch.status).toBeGreaterThanOrEqual(400)
  })

  it('is unknown under another name', async () => {
    for (const path of ['/operator/', '/operator/nothing', '/operator/events', '/operator/__proto__', '/nothing']) {
      expect((await system.call(path, { headers: { authorization } })).status).toBe(404)
    }
  })
})

describe('the operator API without a database', () => {
  it('says so with 503, and the probes name it', async () => {
    await using other = await testDatabase(process.env)
    const { alice } = TOKENS.operators
    await using away = await startGateway({ database: other, settings: { OPERATOR_TOKENS: JSON.stringify({ alice }) } })
    const operator = createOperatorClient(away.adminUrl, alice)
    expect(await operator.events.list.query()).toMatchObject({ items: [], next: null })
    // A view with the same name replaces the collection, so that reading it fails.
    await other.db.collection('events').drop()
    await other.db.createCollection('events', { viewOn: 'nothing', pipeline: [{ $set: { a: { $divide: [1, 0] } } }] })
    await other.db.collection('nothing').insertOne({ _id: new ObjectId() })
    const answer = await fetch(`${away.adminUrl}/operator/events.list`, { headers: { authorization } })
    const body = await answer.text()
    expect(answer.status).toBe(503)
    expect(body).not.toContain('divide')
    expect(body).toContain('"unavailable"')
  })
})

describe('secrets, signatures and bodies', () => {
  it('are in no answer but that of events.get with the body, and in no log line', async () => {
    const operator = system.operator()
    const id = randomUUID()
    const orderId = await system.order()
    const marker = `canary-in-a-body-${randomUUID()}`
    await system.deliver({ ...paymentEvent(id, { orderId }), memo: marker })
    await system.deliver(paymentEvent(randomUUID()), { secret: 'a-wrong-secret-of-a-forger' })
    const record = await system.until(id, ({ state }) => state === 'done')
    const ids = [String(record._id)]
    const { replayId } = await operator.events.replay.mutate({ ids, reason: 'to look for leaks', includeDone: true })
    const answers = await Promise.all([
      operator.overview.query(),
      operator.events.list.query(),
      operator.events.get.query({ id: String(record._id) }),
      operator.events.reverify.query({ id: String(record._id) }),
      operator.replays.get.query({ replayId: replayId ?? '' }),
      operator.providers.list.query(),
      operator.receipts.list.query(),
      operator.audit.list.query(),
      system.call('/metrics'),
      system.call('/readyz'),
    ])
    await system.until(id, ({ replays, state }) => replays?.length === 1 && state === 'done')
    const told = JSON.stringify(answers) + JSON.stringify(system.gateway.logs)
    const { secrets, tokens } = system
    const signature = /v1=(\w+)/.exec(record.headers['stripe-signature'] ?? '')?.[1] ?? ''
    expect(signature).toHaveLength(64)
    const forbidden = [...Object.values(secrets), ...Object.values(tokens.operators), tokens.api, marker, signature]
    for (const text of [...forbidden, 'a-wrong-secret-of-a-forger', database.uri.reveal()])
      expect(told).not.toContain(text)

    const shown = JSON.stringify(await operator.events.get.query({ id: String(record._id), body: true }))
    for (const text of [...Object.values(secrets), ...Object.values(tokens.operators), tokens.api]) {
      expect(shown).not.toContain(text)
    }
  })
})
