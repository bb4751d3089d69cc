import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { expectSound, type HttpAnswer, toHttpAnswer } from '../support/http/http-answer.ts'
import { countStatuses, makeOrder, orderContent } from '../support/http/http-orders.ts'
import { startHttpSystem } from '../support/http/http-system.ts'
import { exchangeOctets, parseAnswers } from '../support/http/raw-http.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem())
const port = Number(new URL(system.fulfilment.url).port)

/** The header that lets a call with this input pass. */
async function authorize(procedure: string, input: string, ifMatch?: string): Promise<string> {
  const [name = ''] = procedure.split('?')
  return `Bearer ${await system.fulfilment.tokens.issue({ procedure: name, input, ifMatch })}`
}

/** Sends octets to fulfilment, which ends the connection, and returns its one answer. */
async function ask(octets: string, method: string, to = port): Promise<HttpAnswer> {
  const exchange = await exchangeOctets(to, octets)
  expect(exchange.closed, 'closed by the server').toBe(true)
  const [answer, ...more] = parseAnswers(exchange.octets, [method]).map(toHttpAnswer)
  expect(more).toEqual([])
  if (answer === undefined) throw new Error('No answer')
  expect(answer.headers.date).toBeDefined()
  expect(answer.headers).not.toHaveProperty('x-powered-by')
  expect(answer.text).not.toMatch(/\bat .+:\d+:\d+|node_modules|mongodb/i)
  return answer
}

interface Call {
  readonly headers?: Readonly<Record<string, string>>
  readonly input?: unknown
}

async function mutate(procedure: string, { headers = {}, input }: Call): Promise<HttpAnswer> {
  const body = typeof input === 'string' ? input : JSON.stringify(input)
  const all = {
    authorization: await authorize(procedure, body, headers['if-match']),
    'content-type': 'application/json',
    'content-length': `${Buffer.byteLength(body)}`,
    ...headers,
  }
  return ask(`POST /trpc/${procedure} HTTP/1.1\r\n${linesOf(all)}\r\n${body}`, 'POST')
}

async function query(procedure: string, input: unknown, method = 'GET'): Promise<HttpAnswer> {
  const text = JSON.stringify(input)
  const target = `/trpc/${procedure}?input=${encodeURIComponent(text)}`
  const authorization = await authorize(procedure, text)
  return ask(`${method} ${target} HTTP/1.1\r\n${linesOf({ authorization })}\r\n`, method)
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  const all = { host: 'fulfilment', connection: 'close', ...headers }
  return Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

const patch = (id: string, members: object = {}) => ({ id, patch: { note: 'x' }, ...members })
const versionOf = async (id: string) => (await query('orders.get', { id })).json.result.data.version

describe('a call of a single-order procedure', () => {
  it('J01 with the right version succeeds', async () => {
    const { id } = await makeOrder(system)
    const answer = await mutate('orders.patch', { input: patch(id, { ifMatch: '"1"' }) })
    expect(answer).toMatchObject({ status: 200, json: { result: { data: { version: 2 } } }, headers: { etag: '"2"' } })
  })

  it('J02 with a stale version is 412, and changes nothing', async () => {
    const { id } = await makeOrder(system)
    expect(await mutate('orders.patch', { input: patch(id, { ifMatch: '"7"' }) })).toMatchObject({
      status: 412,
      headers: { etag: '"1"' },
      json: { error: { data: { code: 'PRECONDITION_FAILED', version: 1 } } },
    })
    expect(await versionOf(id)).toBe(1)
  })

  it('J03 without a version is 428', async () => {
    const { id } = await makeOrder(system)
    expect(await mutate('orders.patch', { input: patch(id) })).toMatchObject({
      status: 428,
      json: { error: { data: { code: 'PRECONDITION_REQUIRED' } } },
    })
  })

  it('J04 reads the version from the header', async () => {
    const { id } = await makeOrder(system)
    expect((await mutate('orders.patch', { input: patch(id), headers: { 'if-match': '"1"' } })).status).toBe(200)
  })

  it('J05 is 400 if header and input differ, and changes nothing', async () => {
    const { id } = await makeOrder(system)
    const call = { input: patch(id, { ifMatch: '"1"' }), headers: { 'if-match': '"2"' } }
    expect((await mutate('orders.patch', call)).status).toBe(400)
    expect(await versionOf(id)).toBe(1)
  })

  it('J14 of twenty at once one wins', { repeats: 2 }, async () => {
    const { id } = await makeOrder(system)
    const calls = Array.from({ length: 20 }, (_, n) =>
      mutate('orders.patch', { input: { id, patch: { note: `${n}` }, ifMatch: '"1"' } }),
    )
    expect(countStatuses(await Promise.all(calls))).toEqual({ 200: 1, 412: 19 })
    expect(await versionOf(id)).toBe(2)
  })
})

describe('a call', () => {
  it.each(['orders.patch,orders.patch?batch=1', 'orders.patch,orders.patch', 'orders.patch?batch=1'])(
    'J07 %s is no call: nothing of a batch is applied',
    async (procedures) => {
      const { id } = await makeOrder(system)
      const input = { 0: patch(id, { ifMatch: '"1"' }), 1: patch(id, { ifMatch: '"1"' }) }
      expect([400, 404]).toContain((await mutate(procedures, { input })).status)
      expect(await versionOf(id)).toBe(1)
    },
  )

  it('J09 says which method a procedure needs', async () => {
    expect(await query('orders.put', { id: 'a' })).toMatchObject({ status: 405, headers: { allow: 'POST' } })
    expect(await mutate('orders.get', { input: { id: 'a' } })).toMatchObject({ status: 405, headers: { allow: 'GET' } })
  })

  it('J17 of an unknown procedure is 404, with a wrong input 400', async () => {
    expect((await query('orders.all', {})).status).toBe(404)
    expect((await mutate('orders.all', { input: {} })).status).toBe(404)
    for (const input of ['{', '[]', 'null', '{}', '{"id":7}', '{"id":"a","id":"b"}', '{"id":"a","more":1}']) {
      expect((await mutate('orders.delete', { input })).status, input).toBe(400)
    }
  })

  it('J18 HEAD is GET without the body, OPTIONS needs no token', async () => {
    const { id } = await makeOrder(system)
    const [get, head] = [await query('orders.get', { id }), await query('orders.get', { id }, 'HEAD')]
    expect([head.status, head.text, head.headers.etag]).toEqual([200, '', get.headers.etag])
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
    const options = await ask(`OPTIONS /trpc/orders.get HTTP/1.1\r\n${linesOf({})}\r\n`, 'OPTIONS')
    expect(options.status).toBe(204)
  })

  it('J19 BP-43 without a token is 401 before any other check', async () => {
    for (const procedure of ['orders.patch', 'orders.nothing', 'orders.patch,orders.patch']) {
      const answer = await mutate(procedure, { input: '{', headers: { authorization: 'Bearer x' } })
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer'])
      const without = await mutate(procedure, { input: '{', headers: { authorization: '' } })
      const told = [without, answer].map(({ status, text }) => `${status} ${text.replace(/"requestId":"[^"]*"/, '')}`)
      expect(told[0], 'what is told without a token').toBe(told[1])
    }
  })

  it('J20 an event that is delivered five times changes its order once', async () => {
    const { id, target } = await makeOrder(system)
    const object = { id: `pay_${id}`, orderId: id, amount: 300, currency: 'EUR' }
    const event = { id: `evt_${randomUUID()}`, type: 'payment.succeeded', data: { object } }
    for (let n = 0; n < 5; n += 1) expect((await system.deliver(event)).status).toBe(200)
    await expect.poll(async () => (await system.call({ target })).json.status).toBe('paid')
    expect((await system.call({ target })).json).toMatchObject({ version: 2, access: 'unlocked' })
    const { items } = (await query('receipts.list', { orderId: id, limit: 10 })).json.result.data
    expect(items).toHaveLength(1)
  })

  it('J21 waits for a 100 only when its body is wanted', async () => {
    const { id } = await makeOrder(system)
    const body = JSON.stringify({ id, order: orderContent({ note: 'x' }) })
    const authorization = await authorize('orders.put', body)
    const expecting = { expect: '100-continue', 'content-type': 'application/json', 'content-length': '2000000' }
    const large = `POST /trpc/orders.put HTTP/1.1\r\n${linesOf({ authorization, ...expecting })}\r\n`
    expect((await ask(large, 'POST')).status).toBe(413)
    const stranger = `POST /trpc/orders.put HTTP/1.1\r\n${linesOf({ ...expecting, 'content-length': '5' })}\r\n`
    expect((await ask(stranger, 'POST')).status).toBe(401)
    const head = linesOf({ authorization, ...expecting, 'content-length': `${body.length}` })
    const { octets } = await exchangeOctets(port, `POST /trpc/orders.put HTTP/1.1\r\n${head}\r\n${body}`)
    expect(parseAnswers(octets, ['POST']).map(({ status }) => status)).toEqual([100, 200])
  })
})

describe.each([
  ['fulfilment', port],
  ['the admin listener', system.adminPort],
])('%s', (_, to) => {
  it.each([
    ['H01', 'GET /livez HTTP/1.1\r\n\r\n', 400],
    ['H02', 'GET /livez HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n', 400],
    ['H04', 'POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ['H07', 'GET /livez HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['H08', 'nonsense\r\n\r\n', 400],
    ['H09', 'GET /livez HTTP/1.1\r\nHost: a\nX: b\r\n\r\n', 400],
    ['H13', 'TRACE /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 404],
    ['H13', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 501],
    ['H17', 'POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501],
    ['H18', 'POST /livez HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['H21', 'GET /livez HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n', 417],
    ['A04', 'GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 404],
    ['A01', 'PUT /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 405],
  ] as const)('%s %j is refused in the common form', async (id, octets, status) => {
    const answer = expectSound(await ask(octets, 'GET', to))
    expect(id === 'H13' ? [404, 405, 501] : [status]).toContain(answer.status)
  })
})
