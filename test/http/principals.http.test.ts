import { randomUUID } from 'node:crypto'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { fingerprintOf } from '@oncehook/gateway/orders/idempotency-key'
import { canaryToken } from '@oncehook/kernel/testing/canary-token'
import { afterAll, describe, expect, it } from 'vitest'
import type { HttpAnswer } from '../support/http/http-answer.ts'
import { ORDERS, orderContent, unusedPath } from '../support/http/http-orders.ts'
import { type HttpCall, startHttpSystem } from '../support/http/http-system.ts'

const tokens = {
  all: canaryToken(),
  reader: canaryToken(),
  writer: canaryToken(),
  ended: canaryToken(),
  ownOne: canaryToken(),
  ownOneNext: canaryToken(),
  ownTwo: canaryToken(),
  field: canaryToken(),
  path: canaryToken(),
}
const ALL = ['orders:read', 'orders:write', 'orders:delete']
const entry = (value: string, rest: object) => ({ tokens: [{ value }], scopes: ALL, ...rest })

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(
  await startHttpSystem({
    limits: { rateWindowSeconds: 3_600 },
    gateway: {
      RATE_LIMIT_FAILED: '20',
      TRUSTED_PROXY_HOPS: '1',
      API_TOKENS: JSON.stringify({
        desk: tokens.all,
        reader: entry(tokens.reader, { scopes: ['orders:read'] }),
        writer: entry(tokens.writer, { scopes: ['orders:write'] }),
        ended: { tokens: [{ value: tokens.ended, notAfter: '2026-01-01T00:00:00Z' }], scopes: ALL },
        'shop ü': {
          tokens: [{ value: tokens.ownOne }, { value: tokens.ownOneNext, notAfter: '2126-01-01T00:00:00Z' }],
          scopes: ALL,
          own: true,
        },
        other: entry(tokens.ownTwo, { own: true }),
        $email: entry(tokens.field, { own: true }),
        'a.$b.0': entry(tokens.path, { own: true }),
      }),
    },
  }),
)

type Holder = keyof typeof tokens

function callAs(holder: Holder, call: HttpCall): Promise<HttpAnswer> {
  return system.call({ ...call, headers: { authorization: `Bearer ${tokens[holder]}`, ...call.headers } })
}

async function put(holder: Holder, target = unusedPath()): Promise<{ target: string; etag: string; id: string }> {
  const answer = await callAs(holder, { method: 'PUT', target, body: orderContent() })
  expect(answer.status).toBe(201)
  return { target, etag: String(answer.headers.etag), id: String(answer.json.id) }
}

const orders = system.fulfilment.db.collection<{ _id: string }>('orders')
const storedOrder = (id: string) => orders.findOne({ _id: id })

describe('a scope', () => {
  it.each<[Holder, string, number]>([
    ['reader', 'GET', 200],
    ['reader', 'HEAD', 200],
    ['reader', 'PUT', 403],
    ['reader', 'PATCH', 403],
    ['reader', 'DELETE', 403],
    ['writer', 'GET', 403],
    ['writer', 'PUT', 200],
    ['writer', 'PATCH', 200],
    ['writer', 'DELETE', 403],
  ])('of %s decides about %s', async (holder, method, status) => {
    const { target, etag } = await put('all')
    const body = method === 'PUT' ? orderContent() : method === 'PATCH' ? {} : undefined
    const headers = method === 'PATCH' ? { 'if-match': etag } : {}
    const answer = await callAs(holder, { method, target, headers, ...(body && { body }) })
    expect(answer.status).toBe(status)
    if (status !== 403) return
    expect(answer.json.code).toBe('scope_missing')
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer error="insufficient_scope", scope="orders:\w+"$/)
    expect((await callAs('all', { target })).headers.etag).toBe(etag)
    const refused = { status: 403, code: 'scope_missing', principal: holder, method }
    const lines = system.lines.filter(({ requestId }) => requestId === answer.json.requestId)
    expect(lines).toEqual([expect.objectContaining({ msg: 'request.refused', ...refused })])
  })

  it('is needed to list and to create', async () => {
    expect((await callAs('writer', { target: ORDERS })).status).toBe(403)
    expect((await callAs('reader', { method: 'POST', target: ORDERS, body: orderContent() })).status).toBe(403)
  })
})

describe('a token', () => {
  it('that has expired is refused like an unknown one; only the log shows the reason', async () => {
    const ended = await callAs('ended', { target: ORDERS })
    const unknown = await system.call({ target: ORDERS, headers: { authorization: `Bearer ${canaryToken()}` } })
    expect([ended.status, ended.json.code, ended.json.error]).toEqual([401, unknown.json.code, unknown.json.error])
    const reasons = [ended, unknown].map(({ json }) => {
      const [line, ...more] = system.lines.filter(({ requestId }) => requestId === json.requestId)
      expect(more).toEqual([])
      return [line?.msg, line?.reason, line?.address]
    })
    expect(reasons).toEqual([
      ['request.refused', 'expired', '127.0.0.1'],
      ['request.refused', 'unknown', '127.0.0.1'],
    ])
  })

  it('replaces another one of its principal, whose keys stay valid', async () => {
    const request = {
      method: 'POST',
      target: ORDERS,
      body: orderContent(),
      headers: { 'idempotency-key': randomUUID() },
    }
    const first = await callAs('ownOne', request)
    const second = await callAs('ownOneNext', request)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.json.id).toBe(first.json.id)
    expect(second.headers['idempotent-replayed']).toBe('true')
  })
})

describe('a principal that may touch only its own orders', () => {
  it('gets 404 for an order of another principal, for every method, and changes nothing', async () => {
    const { target, etag, id } = await put('ownOne')
    const before = await storedOrder(id)
    const answers = await Promise.all([
      callAs('ownTwo', { target }),
      callAs('ownTwo', { method: 'HEAD', target }),
      callAs('ownTwo', { method: 'PUT', target, body: orderContent() }),
      callAs('ownTwo', { method: 'PUT', target, body: orderContent(), headers: { 'if-none-match': '*' } }),
      callAs('ownTwo', { method: 'PUT', target, body: '{', headers: { 'if-match': etag } }),
      callAs('ownTwo', { method: 'PATCH', target, body: {}, headers: { 'if-match': etag } }),
      callAs('ownTwo', { method: 'PATCH', target, body: {}, headers: { 'if-match': '"99"' } }),
      callAs('ownTwo', { method: 'DELETE', target }),
      callAs('ownTwo', { method: 'DELETE', target, headers: { 'if-match': '"99"' } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 412, 404, 404, 404, 404])
    expect(await storedOrder(id)).toEqual(before)
    expect((await callAs('ownOneNext', { target })).status).toBe(200)
    expect((await callAs('all', { target })).status).toBe(200)
  })

  it.each<[string, Omit<HttpCall, 'target'>]>([
    ['a GET', {}],
    ['a DELETE', { method: 'DELETE' }],
    ['a DELETE of a version', { method: 'DELETE', headers: { 'if-match': '"1"' } }],
    ['a PATCH', { method: 'PATCH', body: {}, headers: { 'if-match': '*' } }],
    ['a PUT that is no JSON', { method: 'PUT', body: '{' }],
    ['a PUT to any version', { method: 'PUT', body: orderContent(), headers: { 'if-match': '*' } }],
    ['a PUT to a version that is no order', { method: 'PUT', body: {}, headers: { 'if-match': '*' } }],
  ])('gets the same answer for %s if an id belongs to another principal or to none', async (_, call) => {
    const { target } = await put('ownOne')
    const gone = await put('ownOne')
    expect((await callAs('ownOne', { method: 'DELETE', target: gone.target })).status).toBe(204)
    const answerAt = async (at: string) => {
      const { status, headers, json } = await callAs('ownTwo', { ...call, target: at })
      return { status, etag: headers.etag, allow: headers.allow, code: json?.code, error: json?.error }
    }
    const [ofAnother, ofDeleted, ofNobody] = [
      await answerAt(target),
      await answerAt(gone.target),
      await answerAt(unusedPath()),
    ]
    expect(ofAnother.status).toBeGreaterThanOrEqual(400)
    expect(ofAnother).toEqual(ofNobody)
    expect(ofDeleted).toEqual(ofNobody)
  })

  // An id has one order, so a PUT that would create it must reveal that it exists. The answer reveals nothing else.
  it.each<[string, Record<string, string>]>([
    ['without conditions', {}],
    ['that must create', { 'if-none-match': '*' }],
  ])('learns from a PUT %s only that an id is taken, and gets it if it is free', async (_, headers) => {
    const [{ target, id }, gone, free] = [await put('ownOne'), await put('ownOne'), unusedPath()]
    expect((await callAs('ownOne', { method: 'DELETE', target: gone.target })).status).toBe(204)
    const before = [await storedOrder(id), await storedOrder(gone.id)]
    const putAt = (at: string) => callAs('ownTwo', { method: 'PUT', target: at, body: orderContent(), headers })
    const answers = [await putAt(target), await putAt(gone.target)]
    for (const answer of answers) {
      const { requestId, ...told } = answer.json
      expect(told).toEqual({ error: expect.any(String), code: 'order_not_found' })
      expect([answer.status, answer.headers.etag, answer.headers.allow]).toEqual([404, undefined, undefined])
    }
    expect(answers[0]?.json.error).toBe(answers[1]?.json.error)
    expect([await storedOrder(id), await storedOrder(gone.id)]).toEqual(before)
    const made = await putAt(free)
    expect(made.status).toBe(201)
    expect(await storedOrder(String(made.json.id))).toMatchObject({ createdBy: 'other' })
  })

  it('lists its own orders only', async () => {
    const [mine, theirs, unlimited] = [await put('ownOne'), await put('ownTwo'), await put('all')]
    const ids = async (holder: Holder): Promise<unknown[]> => {
      const { json } = await callAs(holder, { target: `${ORDERS}?limit=100` })
      return (json.items as { id: string }[]).map(({ id }) => id)
    }
    expect(await ids('ownOne')).toContain(mine.id)
    expect(await ids('ownOne')).not.toEqual(expect.arrayContaining([theirs.id]))
    expect(await ids('ownTwo')).not.toEqual(expect.arrayContaining([unlimited.id]))
    expect(await ids('all')).toEqual(expect.arrayContaining([mine.id, theirs.id, unlimited.id]))
  })

  it('does not see an order whose creator is unknown', async () => {
    const { target, id } = await put('ownOne')
    await orders.updateOne({ _id: id }, { $unset: { createdBy: '', changedBy: '' } })
    expect((await callAs('ownOne', { target })).status).toBe(404)
    expect((await callAs('all', { target })).status).toBe(200)
    expect((await callAs('all', { method: 'PUT', target, body: orderContent({ note: 'new' }) })).status).toBe(200)
    expect(await storedOrder(id)).toMatchObject({ changedBy: 'desk' })
    expect(await storedOrder(id)).not.toHaveProperty('createdBy')
  })

  it('does not take over the id of an order that another one has deleted', async () => {
    const { target } = await put('ownOne')
    expect((await callAs('ownOne', { method: 'DELETE', target })).status).toBe(204)
    expect((await callAs('ownTwo', { method: 'PUT', target, body: orderContent() })).status).toBe(404)
    expect((await callAs('ownOne', { method: 'DELETE', target })).status).toBe(204)
    expect((await callAs('ownOne', { method: 'PUT', target, body: orderContent() })).status).toBe(201)
  })
})

describe('a change', () => {
  it('names its principal on the order, in the log of both services and in the audit log', async () => {
    const { target, etag, id } = await put('ownOne')
    expect(await storedOrder(id)).toMatchObject({ createdBy: 'shop ü', changedBy: 'shop ü' })
    const patched = await callAs('all', {
      method: 'PATCH',
      target,
      headers: { 'if-match': etag, 'x-request-id': 'of-the-caller' },
      body: { note: 'new' },
    })
    expect(patched.status).toBe(200)
    expect(await storedOrder(id)).toMatchObject({ createdBy: 'shop ü', changedBy: 'desk' })
    expect((await callAs('ownOne', { method: 'DELETE', target })).status).toBe(204)
    expect(await storedOrder(id)).toMatchObject({ createdBy: 'shop ü', changedBy: 'shop ü', status: 'deleted' })

    const requestId = String(patched.headers['x-request-id'])
    expect(requestId).not.toBe('of-the-caller')
    const lines = system.lines.filter((line) => line.requestId === requestId)
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ msg: 'request.completed', procedure: 'orders.patch', principal: 'desk' }),
        expect.objectContaining({
          ...{ msg: 'api.called', principal: 'desk', method: 'PATCH', status: 200, orderId: id },
          clientRequestId: 'of-the-caller',
        }),
      ]),
    )
    const audited = () => system.db.collection('audit').find({ 'details.orderId': id }).sort({ seq: 1 }).toArray()
    await expect.poll(audited).toHaveLength(3)
    expect(await audited()).toMatchObject([
      { by: 'api:shop ü', action: 'orders.put', details: { version: 1 } },
      { by: 'api:desk', action: 'orders.patch', details: { version: 2, requestId } },
      { by: 'api:shop ü', action: 'orders.delete', details: { version: null } },
    ])
  })
})

describe.each<[string, Holder]>([
  ['$email', 'field'],
  ['a.$b.0', 'path'],
])('a principal with the name %s', (principal, holder) => {
  it('is stored unchanged, however its orders are made and changed', async () => {
    const body = orderContent({ email: 'a@example.com' })
    const { target, etag, id } = await put(holder)
    const by = { createdBy: principal, changedBy: principal }
    expect(await storedOrder(id)).toMatchObject(by)
    const changes: HttpCall[] = [
      { method: 'PATCH', target, headers: { 'if-match': etag }, body: { note: '$email' } },
      { method: 'PUT', target, body },
      { method: 'DELETE', target },
      { method: 'PUT', target, body },
    ]
    for (const change of changes) {
      expect((await callAs(holder, change)).status).toBeLessThan(300)
      expect(await storedOrder(id)).toMatchObject(by)
    }
    const headers = { 'idempotency-key': randomUUID() }
    const post = () => callAs(holder, { method: 'POST', target: ORDERS, headers, body })
    const [made, again] = [await post(), await post()]
    expect(again.json.id).toBe(made.json.id)
    expect(await storedOrder(String(made.json.id))).toMatchObject(by)
    const keys = system.fulfilment.db.collection('idempotency_keys')
    expect(await keys.findOne({ orderId: made.json.id })).toMatchObject({ principal })
    expect((await callAs(holder, { target: ORDERS })).json).toMatchObject({ items: [{ id: made.json.id }, { id }] })
    const audited = () => system.db.collection('audit').countDocuments({ by: `api:${principal}` })
    await expect.poll(audited).toBe(6)
  })
})

describe('an order that is created by POST', () => {
  it('names its principal in the audit log, once however often its key is repeated', async () => {
    const headers = { 'idempotency-key': '"a-key-of-the-audit"' }
    const post = () => callAs('ownOne', { method: 'POST', target: ORDERS, headers, body: orderContent() })
    const [made, again] = [await post(), await post()]
    expect([made.status, again.status]).toEqual([201, 201])
    expect(again.headers['idempotent-replayed']).toBe('true')
    const id = String(made.headers.location).slice(`${ORDERS}/`.length)
    expect((await callAs('ownOne', { method: 'DELETE', target: `${ORDERS}/${id}` })).status).toBe(204)
    const audited = () => system.db.collection('audit').find({ 'details.orderId': id }).sort({ seq: 1 }).toArray()
    await expect.poll(audited).toHaveLength(2)
    expect(await audited()).toMatchObject([
      { by: 'api:shop ü', action: 'orders.create', details: { version: 1, requestId: made.headers['x-request-id'] } },
      { by: 'api:shop ü', action: 'orders.delete' },
    ])
  })

  it('is in the audit log even if the answer to its first request was lost', async () => {
    const key = randomUUID()
    const order = orderContent()
    const body = { raw: Buffer.from(JSON.stringify(order)), json: order }
    const request = { method: 'POST', target: ORDERS, mediaType: 'application/json', body }
    // The gateway has asked for it, and got no answer.
    const idempotency = { principal: 'shop ü', key, fingerprint: fingerprintOf(request) }
    const lost = await fulfilmentClient(system.fulfilment).orders.create.mutate({ order, idempotency, owner: 'shop ü' })
    const { id } = lost.order
    const post = () =>
      callAs('ownOne', { method: 'POST', target: ORDERS, headers: { 'idempotency-key': key }, body: order })
    const again = [await post(), await post()]
    expect(again.map(({ json, headers }) => [json.id, headers['idempotent-replayed']])).toEqual([
      [id, 'true'],
      [id, 'true'],
    ])
    expect((await callAs('ownOne', { method: 'DELETE', target: `${ORDERS}/${id}` })).status).toBe(204)
    const audited = () => system.db.collection('audit').find({ 'details.orderId': id }).sort({ seq: 1 }).toArray()
    await expect.poll(audited).toHaveLength(2)
    expect(await audited()).toMatchObject([
      { by: 'api:shop ü', action: 'orders.create', details: { version: 1 } },
      { by: 'api:shop ü', action: 'orders.delete' },
    ])
  })
})

describe('failed authentication', () => {
  it('is limited by address, summarised in the log, counted, and does not affect valid tokens', async () => {
    const from = (address: string, token: string) =>
      system.call({ target: ORDERS, headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': address } })
    const address = '203.0.113.7'
    const statuses: number[] = []
    for (let n = 0; n < 25; n += 1) {
      const answer = await from(address, 'canary-of-a-guess')
      statuses.push(answer.status)
      if (answer.status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    expect(statuses).toEqual([...Array(20).fill(401), ...Array(5).fill(429)])
    expect((await from('203.0.113.8', 'canary-of-a-guess')).status).toBe(401)
    expect((await from(address, tokens.all)).status).toBe(200)

    const of = (msg: string) => system.lines.filter((line) => line.msg === msg && line.address === address)
    expect(of('request.refused')).toHaveLength(20)
    await expect.poll(() => of('authentication.failing').reduce((sum, { times }) => sum + Number(times), 0)).toBe(5)
    const metrics = await (await fetch(`http://127.0.0.1:${system.adminPort}/metrics`)).text()
    expect(metrics).toMatch(/oncehook_authentication_failures_total\{api="orders",reason="unknown"\} 2[67]/)
    expect(JSON.stringify(system.lines)).not.toContain('canary')
  })
})
