import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { createEncryptionKeysSource } from '@oncehook/kernel/secrets/encryption-keys'
import { withServiceToken } from '@oncehook/kernel/secrets/service-token'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeys } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, describe, expect, it } from 'vitest'
import { ORDERS, type OrderDocument, newOrder as storedOrder } from '../orders/stored/order-document.ts'
import { fulfilmentRouter } from '../router.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { startFulfilment } from '../testing/start-fulfilment.ts'

const { logger, lines } = memoryLogger()
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const encryptionKeys = createEncryptionKeysSource({ ENCRYPTION_KEYS: createTestKeys().json('first') })
const served = {
  uri: database.uri,
  database: database.name,
  encryptionKeys,
  logger,
  settings: { PRIVATE_NAMES: 'orders.example' },
}
const fulfilment = stack.use(await startFulfilment(served))
const authorized = withServiceToken(fetch, fulfilment.tokens)

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: data from the wire is examined, not trusted
  readonly body: any
}

async function send(path: string, init: RequestInit = {}): Promise<Answer> {
  const own = new Headers(init.headers).has('authorization')
  const response = await (own ? fetch : authorized)(`${fulfilment.url}${path}`, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

function mutate(procedure: string, input: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const body = typeof input === 'string' ? input : JSON.stringify(input)
  const init = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } }
  return send(`/trpc/${procedure}`, init)
}

function query(procedure: string, input: unknown, init: RequestInit = {}): Promise<Answer> {
  return send(`/trpc/${procedure}?input=${encodeURIComponent(JSON.stringify(input))}`, init)
}

async function newOrder(): Promise<string> {
  const id = `o_${randomUUID()}`
  const { status, headers, body } = await mutate('orders.put', { id, order: sampleOrder() })
  expect({ status, etag: headers.get('etag'), created: body.result.data.created }).toEqual({
    status: 200,
    etag: '"1"',
    created: true,
  })
  return id
}

const orders = () => fulfilment.db.collection<OrderDocument>(ORDERS)

/** The key of a receipt that waits for an operator. */
const PARKED = { $set: { 'receipts.0.state': 'parked', 'receipts.0.sentAt': null, 'receipts.0.dueAt': null } } as const

async function newParkedReceipt(): Promise<string> {
  const orderId = await newOrder()
  await mutate('payments.applyEvents', { events: [sampleEvent({ orderId })] })
  await receiptsSettled()
  const order = await orders().findOneAndUpdate({ _id: orderId }, PARKED)
  return String(order?.receipts[0]?.key)
}

function receiptsSettled(): Promise<void> {
  const waiting = { 'receipts.state': { $in: ['owed', 'sending'] } }
  return expect.poll(() => orders().countDocuments(waiting)).toBe(0)
}

/** Changes each order, or makes it again, and parks each receipt. */
async function changeEverything(): Promise<void> {
  await receiptsSettled()
  for (const { _id: id } of await orders().find().toArray()) {
    const { status } = await mutate('orders.put', { id, order: sampleOrder({ note: `later ${randomUUID()}` }) })
    expect(status).toBe(200)
  }
  await orders().updateMany({ 'receipts.0': { $exists: true } }, PARKED)
}

/** What all collections hold when the worker has nothing left to do, but for when the process used its key last. */
async function everything(): Promise<Readonly<Record<string, unknown>>> {
  await receiptsSettled()
  // It registers the key of the process, if that has not been done.
  await query('encryption.status', {})
  const collections = await fulfilment.db.collections()
  const held = collections.map(async (collection) => {
    const projection = collection.collectionName === 'encryption_keys' ? { usedAt: 0, users: 0 } : {}
    return [collection.collectionName, await collection.find({}, { projection }).sort({ _id: 1 }).toArray()]
  })
  return Object.fromEntries(await Promise.all(held))
}

/** Sends raw bytes and returns the whole reply. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(fulfilment.url).port), '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket
      .on('data', (chunk) => (answer += chunk))
      .on('end', () => resolve(answer))
      .on('error', reject)
  })
}

describe('a call of a single-order procedure', () => {
  it('J04 reads the version from the header instead', async () => {
    const id = await newOrder()
    const { status, headers } = await mutate('orders.patch', { id, patch: { note: 'x' } }, { 'if-match': '"1"' })
    expect({ status, etag: headers.get('etag') }).toEqual({ status: 200, etag: '"2"' })
    expect((await mutate('orders.put', { id, order: sampleOrder() }, { 'if-match': '"1"' })).status).toBe(412)
    expect((await mutate('orders.delete', { id }, { 'if-match': '"1"' })).status).toBe(412)
  })

  it('J05 is 400 when header and input disagree, and changes nothing', async () => {
    const id = await newOrder()
    const { status } = await mutate('orders.patch', { id, patch: { note: 'x' }, ifMatch: '"1"' }, { 'if-match': '"2"' })
    expect(status).toBe(400)
    const same = await mutate('orders.patch', { id, patch: { note: 'x' }, ifMatch: '"1"' }, { 'if-match': '"1"' })
    expect(same.body.result.data.version).toBe(2)
  })
})

describe('the listener', () => {
  it('J07 refuses a batch, and applies none of it', async () => {
    const id = await newOrder()
    const inputs = { 0: { id, patch: { note: 'x' }, ifMatch: '"1"' }, 1: { id, patch: { note: 'y' }, ifMatch: '"1"' } }
    const { status, headers } = await mutate('orders.patch,orders.patch?batch=1', inputs)
    expect({ status, type: headers.get('content-type') }).toEqual({
      status: 400,
      type: 'application/json; charset=utf-8',
    })
    expect((await query('orders.get', { id })).body.result.data.version).toBe(1)
  })

  it('J09 says which method a procedure accepts', async () => {
    const wrong = await query('orders.put', { id: 'a' })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
    const other = await mutate('orders.get', { id: 'a' })
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET'])
    expect((await send('/trpc/orders.get', { method: 'DELETE' })).status).toBe(405)
  })

  it('J17 knows no other procedures, and checks every input', async () => {
    expect(await query('orders.everything', {})).toMatchObject({
      status: 404,
      body: { error: { data: { reason: 'not_found' } } },
    })
    const inputs = [{}, { id: 7 }, { id: '../etc' }, { id: 'a', extra: 1 }, { id: { $gt: '' } }]
    for (const input of inputs) {
      expect(await query('orders.get', input)).toMatchObject({
        status: 400,
        body: { error: { data: { reason: 'invalid_request' } } },
      })
    }
    const event = { ...sampleEvent({ orderId: 'a' }), type: 'payment.refunded' }
    expect((await mutate('payments.applyEvents', { events: [event] })).status).toBe(400)
    expect((await mutate('payments.applyEvents', { events: [] })).status).toBe(400)
    expect(
      (await mutate('payments.applyEvents', { events: Array(501).fill(sampleEvent({ orderId: 'a' })) })).status,
    ).toBe(400)
  })

  it('refuses a captured token for another body or procedure, and accepts it for its own call', async () => {
    const [paid, other] = [await newOrder(), await newOrder()]
    const events = (orderId: string) => JSON.stringify({ events: [sampleEvent({ orderId })] })
    const issue = async (procedure: string, input: string) => ({
      authorization: `Bearer ${await fulfilment.tokens.issue({ procedure, input })}`,
    })
    const captured = await issue('payments.applyEvents', events(paid))
    expect((await mutate('payments.applyEvents', events(other), captured)).status).toBe(401)
    expect((await mutate('payments.applyEvents', `${events(paid)} `, captured)).status).toBe(401)
    expect((await mutate('orders.delete', JSON.stringify({ id: other }), captured)).status).toBe(401)
    expect((await query('orders.get', { id: other })).body.result.data).toMatchObject({ status: 'pending', version: 1 })
    const { status, body } = await mutate('payments.applyEvents', events(paid), captured)
    expect({ status, result: body.result.data.results[0] }).toMatchObject({
      status: 200,
      result: { outcome: 'applied' },
    })
    const removed = await issue('orders.delete', JSON.stringify({ id: other }))
    const stale = { ...removed, 'if-match': '*' }
    expect((await mutate('orders.delete', JSON.stringify({ id: other }), stale)).status).toBe(401)
    const reading = await issue('orders.get', JSON.stringify({ id: paid }))
    expect((await query('orders.get', { id: other }, { headers: reading })).status).toBe(401)
    expect((await query('orders.get', { id: paid }, { headers: reading })).status).toBe(200)
  })

  const MUTATIONS: Readonly<Record<string, () => Promise<object>>> = {
    'orders.create': async () => ({ order: sampleOrder() }),
    'orders.put': async () => ({ id: `o_${randomUUID()}`, order: sampleOrder() }),
    'orders.patch': async () => ({ id: await newOrder(), patch: { note: 'x' }, ifMatch: '*' }),
    'orders.delete': async () => ({ id: await newOrder() }),
    'payments.applyEvents': async () => ({ events: [sampleEvent({ orderId: await newOrder(), ifMatch: '*' })] }),
    'erasures.erase': async () => ({ orderIds: [await newOrder()] }),
    'encryption.rotate': async () => {
      const plain = storedOrder(`o_${randomUUID()}`, sampleOrder({ note: 'x' }), new Date())
      await orders().insertOne(plain)
      return { collection: 'orders', after: null, dryRun: false }
    },
    'encryption.retire': async () => {
      const left = { usedAt: new Date(0), users: [], isLeft: true, rotation: 'unnamed' }
      await fulfilment.db.collection<object & { _id: string }>('encryption_keys').insertOne({ _id: 'former', ...left })
      return { key: 'first' }
    },
    'receipts.release': async () => ({ key: await newParkedReceipt() }),
    'receipts.releaseAll': async () => {
      await newParkedReceipt()
      return { after: null, dryRun: false }
    },
  }

  it('is listed here if it changes something', () => {
    const procedures = Object.entries(
      fulfilmentRouter._def.procedures as unknown as Record<string, { _def: { type: string } }>,
    )
    const changing = procedures.filter(([, { _def }]) => _def.type === 'mutation').map(([name]) => name)
    expect(changing.toSorted()).toEqual(Object.keys(MUTATIONS).toSorted())
  })

  it.each(Object.entries(MUTATIONS))('has no second effect if somebody sends it again: %s', async (procedure, make) => {
    const body = JSON.stringify(await make())
    const token = await fulfilment.tokens.issue({ procedure, input: body })
    const headers = { authorization: `Bearer ${token}` }
    const untouched = await everything()
    expect((await mutate(procedure, body, headers)).status).toBe(200)
    expect(await everything()).not.toEqual(untouched)
    await changeEverything()
    const before = await everything()
    expect((await mutate(procedure, body, headers)).status).toBeLessThan(500)
    expect(await everything()).toEqual(before)
  })

  it('that made an order makes none again after the order was deleted', async () => {
    const body = JSON.stringify({ order: sampleOrder() })
    const token = await fulfilment.tokens.issue({ procedure: 'orders.create', input: body })
    const headers = { authorization: `Bearer ${token}` }
    const { id } = (await mutate('orders.create', body, headers)).body.result.data.order
    await mutate('orders.delete', { id })
    expect((await mutate('orders.create', body, headers)).status).toBe(404)
    expect((await query('orders.get', { id })).status).toBe(404)
  })

  it('records as creator the subject of the token, or none, and with a key its principal', async () => {
    const made = async (input: object, subject?: string) => {
      const body = JSON.stringify(input)
      const token = await fulfilment.tokens.issue({ procedure: 'orders.create', input: body, subject })
      // Only signed values may name a principal.
      const headers = { authorization: `Bearer ${token}`, 'x-principal': 'mallory' }
      const answer = await mutate('orders.create', body, headers)
      return orders().findOne({ _id: answer.body.result.data.order.id })
    }
    const keyed = () => ({ idempotency: { principal: 'desk', key: randomUUID(), fingerprint: 'x' } })
    const order = sampleOrder()
    expect(await made({ order }, 'shop ü')).toMatchObject({ createdBy: 'shop ü', changedBy: 'shop ü' })
    expect(await made({ order, ...keyed() }, 'desk')).toMatchObject({ createdBy: 'desk' })
    const nameless = await made({ order })
    expect(nameless).not.toHaveProperty('createdBy')
    expect(nameless).not.toHaveProperty('changedBy')
    expect(JSON.stringify(lines)).not.toContain('mallory')
    expect(lines).toContainEqual(expect.objectContaining({ procedure: 'orders.create', principal: 'shop ü' }))
  })

  it.each([
    { what: 'not JSON', body: 'broken', status: 400, reason: 'invalid_body' },
    { what: 'no object', body: '[]', status: 400, reason: 'invalid_request' },
    { what: 'a bent number', body: '{"id":"a","patch":9007199254740993}', status: 400, reason: 'invalid_body' },
    { what: 'a form', headers: { 'content-type': 'application/x-www-form-urlencoded' }, status: 415 },
    { what: 'an encoded body', headers: { 'content-encoding': 'gzip' }, status: 415 },
    { what: '1 MiB and a byte', body: ' '.repeat(1_048_577), status: 413, reason: 'payload_too_large' },
  ])('refuses $what', async ({ body = '{}', headers = {}, status, reason = 'unsupported_media_type' }) => {
    const answer = await mutate('orders.patch', body, headers)
    expect(answer).toMatchObject({ status, body: { error: { data: { httpStatus: status, reason } } } })
  })

  it.each(['/trpc/../1234orders.list', '/elsewhere/../trpc/orders.list', '/trpc/./orders.list'])(
    'knows no procedure by another name of its path: %s',
    async (path) => {
      const { host } = new URL(fulfilment.url)
      const token = await fulfilment.tokens.issue({ procedure: 'orders.list', input: '{}' })
      const head = `Host: ${host}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`
      expect(await raw(`GET ${path}?input=%7B%7D HTTP/1.1\r\n${head}`)).toMatch(/^HTTP\/1\.1 (?:404|401) /)
    },
  )

  it('answers HEAD like GET, without the body', async () => {
    const id = await newOrder()
    const path = `/trpc/orders.get?input=${encodeURIComponent(JSON.stringify({ id }))}`
    const [get, head] = [await send(path), await send(path, { method: 'HEAD' })]
    expect(head).toMatchObject({ status: 200, body: null })
    for (const name of ['etag', 'content-type', 'content-length', 'cache-control']) {
      expect(head.headers.get(name)).toBe(get.headers.get(name))
    }
    const [missing, missingHead] = [
      await send('/trpc/orders.nothing'),
      await send('/trpc/orders.nothing', { method: 'HEAD' }),
    ]
    expect([missing.status, missingHead.status, missingHead.body]).toEqual([404, 404, null])
  })

  it('answers OPTIONS without a token, and no method that it does not know', async () => {
    const options = await fetch(`${fulfilment.url}/trpc/orders.get`, { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST, OPTIONS'])
    expect(await raw('TRACE /trpc/orders.get HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 501 /,
    )
    expect(await raw('GET //[ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 404 /)
    expect(await raw('GET /trpc/%ZZ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
    expect((await send('/trpc/%ZZ')).status).toBe(400)
  })

  it('writes no line of an error about what strangers send', async () => {
    const before = lines.length
    expect((await send('/trpc/orders.list', { method: 'PROPFIND', headers: { authorization: 'x' } })).status).toBe(501)
    expect((await send('/trpc/orders.list', { headers: { authorization: 'x' } })).status).toBe(401)
    expect(lines.slice(before).map(({ level }) => level)).toEqual(['info', 'info'])
  })

  it('shows its probes and metrics, and nothing else', async () => {
    expect((await send('/livez')).body).toEqual({ status: 'ok' })
    expect((await send('/readyz')).body).toEqual({ status: 'ok', checks: { mongodb: 'ok' } })
    await newOrder()
    const metrics = await (await fetch(`${fulfilment.url}/metrics`)).text()
    expect(metrics).toMatch(/^oncehook_call_seconds_count\{procedure="orders\.put",status="200"\} \d+$/m)
    expect(metrics).toMatch(/^oncehook_receipts_unsettled 0$/m)
    const { status, body } = await send('/elsewhere', { headers: { 'x-request-id': 'req-1' } })
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: expect.any(String), code: 'not_found', requestId: 'req-1' },
    })
  })

  it('shows them by its own names only: another name may belong to a stranger. A call has its token', async () => {
    const ask = (path: string, host: string) =>
      raw(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    for (const path of ['/metrics', '/readyz', '/livez', '/elsewhere']) {
      expect(await ask(path, 'evil.example')).toMatch(/^HTTP\/1\.1 421 .*"host_unknown"/s)
    }
    for (const host of ['127.0.0.1:8090', '[::1]', 'localhost', 'ORDERS.example:8090']) {
      expect(await ask('/livez', host)).toMatch(/^HTTP\/1\.1 200 /)
    }
    expect(await ask('/trpc/orders.list', 'evil.example')).toMatch(/^HTTP\/1\.1 401 /)
  })

  it('logs one line per call, with the id of the request and without the body', async () => {
    const canary = `canary-${randomUUID()}`
    const { headers } = await mutate(
      'orders.create',
      { order: sampleOrder({ note: canary }) },
      { 'x-request-id': 'req-2' },
    )
    expect(headers.get('x-request-id')).toBe('req-2')
    const told = lines.filter(({ requestId }) => requestId === 'req-2')
    expect(told).toMatchObject([
      { msg: 'request.completed', procedure: 'orders.create', status: 200, caller: 'gateway' },
    ])
    const batch = { events: [sampleEvent({ orderId: 'nobody' }), sampleEvent({ orderId: 'nowhere' })] }
    await mutate('payments.applyEvents', batch, { 'x-request-id': 'req-3' })
    expect(lines.filter(({ requestId }) => requestId === 'req-3')).toMatchObject([
      { events: 2, results: { order_unknown: 2 } },
    ])
    expect(JSON.stringify(lines)).not.toContain(canary)
  })
})
