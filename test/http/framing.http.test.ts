import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { expectSound, type HttpAnswer, toHttpAnswer } from '../support/http/http-answer.ts'
import { makeOrder, ORDERS, orderContent, unusedPath } from '../support/http/http-orders.ts'
import { type HttpCall, startHttpSystem, WEBHOOK } from '../support/http/http-system.ts'
import { type Octets, parseAnswers } from '../support/http/raw-http.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const impatient = { HEADERS_TIMEOUT_MS: '1000', REQUEST_TIMEOUT_MS: '2000' }
const system = stack.use(await startHttpSystem({ gateway: impatient }))
const { call, deliver, write } = system

/** F01: the service still answers after every broken request. */
afterEach(async () => {
  const event = { id: `evt_${randomUUID()}`, type: 'customer.created', data: { object: { id: 'cus_1' } } }
  const startedAt = performance.now()
  expect(await deliver(event)).toMatchObject({ status: 200, json: { received: true } })
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})

/** Sends octets and reads all answers; the other side has to end the connection within the deadline. */
async function answersTo(octets: Octets, methods: readonly string[] = ['GET']): Promise<HttpAnswer[]> {
  const exchange = await system.send(octets, 6_000)
  expect(exchange.closed, 'closed by the server').toBe(true)
  return parseAnswers(exchange.octets, methods).map((answer) => expectSound(toHttpAnswer(answer)))
}

/** The status of the only answer to octets. The connection ends after it. */
async function statusOf(octets: Octets, methods?: readonly string[]): Promise<number | undefined> {
  const answers = await answersTo(octets, methods)
  expect(answers).toHaveLength(1)
  return answers[0]?.status
}

const get = (lines: string, target = '/healthz', version = 'HTTP/1.1') => `GET ${target} ${version}\r\n${lines}\r\n`
const post = (lines: string, body = '') => `POST ${ORDERS} HTTP/1.1\r\nHost: a\r\n${lines}\r\n${body}`

describe('the request line and Host', () => {
  it('H01 HTTP/1.1 needs a Host', async () => {
    expect(await statusOf(get(''))).toBe(400)
  })

  it.each([
    'Host: a\r\nHost: a\r\n',
    'Host: a\r\nHost: b\r\n',
    'Host: a\r\nX: y\r\nhOST: a\r\n',
    'Host:\r\nHost: a\r\n',
  ])('H02 two lines of Host are refused: %j', async (lines) => {
    expect(await statusOf(get(lines))).toBe(400)
  })

  it.each([
    'a b',
    'a/b',
    'a@b',
    'a,b',
    'http://a',
    'a:b',
    'a:99999x',
    '[::1',
    '::1',
    'a\\b',
    '%zz',
    'a"b',
    '<a>',
    'a?b',
    'a#b',
    '\xe9',
  ])('H03 the Host %j is invalid', async (host) => {
    expect(await statusOf(get(`Host: ${host}\r\n`))).toBe(400)
  })

  it.each(['a', 'a.example:8080', '[::1]:80', '127.0.0.1', 'a:', '', 'x_y', '%41'])(
    'H03 the Host %j is one',
    async (host) => {
      expect(await statusOf(get(`Host: ${host}\r\nConnection: close\r\n`))).toBe(200)
    },
  )

  it('H06 HTTP/1.0 needs no Host and gets no chunks', async () => {
    const [answer] = await answersTo(get('', '/healthz', 'HTTP/1.0'))
    expect(answer).toMatchObject({ status: 200, json: { status: 'ok' } })
    expect(answer?.headers).not.toHaveProperty('transfer-encoding')
  })

  it.each(['HTTP/2.0', 'HTTP/3.0', 'HTTP/9.9'])('H07 %s is another protocol', async (version) => {
    expect(await statusOf(get('Host: a\r\nConnection: close\r\n', '/healthz', version))).toBe(505)
  })

  it.each(['GET /healthz\r\n\r\n', 'GET /healthz\r\nHost: a\r\n\r\n', 'GET /healthz \r\nHost: a\r\n\r\n'])(
    'H07 a request line without a version is none: %j',
    async (octets) => {
      expect(await statusOf(octets)).toBe(400)
    },
  )

  it.each([
    'GET /healthz HTTP/0.9\r\nHost: a\r\n\r\n',
    'GET\t/healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /health z HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /healthz http/1.1\r\nHost: a\r\n\r\n',
    'GET /healthz HTTP/1.1 \r\nHost: a\r\n\r\n',
    'GET /healthz HTTP/1\r\nHost: a\r\n\r\n',
    ' GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'GE\0T /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'gET /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'NONSENSE /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '{"a":1}\r\n\r\n',
    '\0\0\0\0',
  ])('H08 no request line: %j', async (octets) => {
    expect([400, 505]).toContain(await statusOf(octets))
  })

  it('H08 an empty line before a request is passed over', async () => {
    expect(await statusOf(`\r\n${get('Host: a\r\nConnection: close\r\n')}`)).toBe(200)
  })

  it('H11 a target beyond 8 KiB is too long, one within is not', async () => {
    const target = (length: number) => `/healthz?${'a'.repeat(length - 9)}`
    expect(await statusOf(get('Host: a\r\nConnection: close\r\n', target(8_192)))).toBe(200)
    expect(await statusOf(get('Host: a\r\n', target(8_193)))).toBe(414)
    expect([414, 431]).toContain(await statusOf(get('Host: a\r\n', target(100_000))))
  })

  it.each(['gateway.example:443', 'a:0', '/healthz', 'a'])('H13 BP-51 CONNECT %s opens no tunnel', async (target) => {
    const octets = `CONNECT ${target} HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`
    expect([400, 501]).toContain(await statusOf(octets))
    expect(await statusOf('CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n')).toBe(501)
  })

  it('H13 BP-51 TRACE echoes nothing', async () => {
    const [answer] = await answersTo('TRACE /healthz HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer canary\r\n\r\n')
    expect(answer?.status).toBe(501)
    expect(JSON.stringify(answer)).not.toContain('canary')
  })

  it('H13 an upgrade to another protocol is passed over', async () => {
    for (const protocol of ['websocket', 'h2c', 'TLS/1.0']) {
      const lines = `Host: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\n`
      expect(await statusOf(get(lines))).toBe(200)
    }
  })
})

describe('header lines', () => {
  it.each([
    ['a space before the colon', 'Host : a\r\n'],
    ['a space before the colon', 'Host: a\r\nX-A : b\r\n'],
    ['a folded line', 'Host: a\r\nX-A: b\r\n c\r\n'],
    ['a folded first line', ' Host: a\r\n'],
    ['NUL in a value', 'Host: a\r\nX-A: b\0c\r\n'],
    ['NUL in a name', 'Host: a\r\nX\0A: b\r\n'],
    ['a bare CR', 'Host: a\r\nX-A: b\rX-B: c\r\n'],
    ['a bare LF', 'Host: a\nX-A: b\r\n'],
    ['a bare LF', 'Host: a\r\nX-A: b\nX-B: c\r\n'],
    ['no name', 'Host: a\r\n: b\r\n'],
    ['no colon', 'Host: a\r\nX-A\r\n'],
    ['a bell', 'Host: a\r\nX-A: b\x07\r\n'],
    ['a name that is no token', 'Host: a\r\nX(A): b\r\n'],
  ])('H09 %s is refused: %j', async (_, lines) => {
    expect(await statusOf(get(lines))).toBe(400)
  })

  it('H09 bare line feeds end no header section', async () => {
    expect(await statusOf('GET /healthz HTTP/1.1\nHost: a\n\n')).toBe(400)
    expect(await statusOf('GET /healthz HTTP/1.1\r\nHost: a\r\n\n')).toBe(400)
  })

  it('H10 a header section beyond the limit is too large', async () => {
    expect(await statusOf(get(`Host: a\r\nX-A: ${'b'.repeat(17_000)}\r\n`))).toBe(431)
    expect(await statusOf(get(`Host: a\r\n${'X-A: b\r\n'.repeat(3_000)}`))).toBe(431)
    expect(await statusOf(get(`Host: a\r\nConnection: close\r\nX-A: ${'b'.repeat(15_000)}\r\n`))).toBe(200)
  })

  it('H10 no header line is dropped because there are many', async () => {
    const { target, etag } = await makeOrder(system)
    const many = Object.fromEntries(Array.from({ length: 2_300 }, (_, n) => [n.toString(36), '']))
    expect((await call({ method: 'DELETE', target, headers: { ...many, 'if-match': '"7"' } })).status).toBe(431)
    expect((await call({ target })).headers.etag).toBe(etag)
  })

  it.each(['Authorization', 'Content-Type', 'Host'])('H16 two lines of %s are refused', async (name) => {
    expect(await statusOf(get(`Host: a\r\nConnection: close\r\n${name}: b\r\n${name}: b\r\n`))).toBe(400)
  })
})

describe('the length of a body', () => {
  it.each([
    'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 0\r\n',
  ])('H04 two framings are refused: %j', async (lines) => {
    expect(await statusOf(post(lines, '0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'))).toBe(400)
  })

  it.each([
    'Content-Length: 2\r\nContent-Length: 3\r\n',
    'Content-Length: 2\r\nContent-Length: 2\r\n',
    'Content-Length: 2, 2\r\n',
    'Content-Length: +2\r\n',
    'Content-Length: -1\r\n',
    'Content-Length: 0x2\r\n',
    'Content-Length: 99999999999999999999\r\n',
    'Content-Length: 2.0\r\n',
    'Content-Length: 1e1\r\n',
    'Content-Length: two\r\n',
    'Content-Length: 1 2\r\n',
    'Content-Length:\r\n',
  ])('H05 an invalid length is refused: %j', async (lines) => {
    expect(await statusOf(post(lines, '{}'))).toBe(400)
  })

  it.each([
    ['gzip, chunked', 501],
    ['gzip', 400],
    ['identity', 400],
    ['chunked, chunked', 400],
    ['xchunked', 400],
    ['chunked, identity', 400],
    ['chunked\r\nTransfer-Encoding: chunked', 400],
    ['chunked\r\nTransfer-Encoding: identity', 400],
    ['\x0bchunked', 400],
    ['"chunked"', 400],
    ['', 400],
  ])('H17 Transfer-Encoding: %j is refused', async (coding, status) => {
    const got = await statusOf(post(`Transfer-Encoding: ${coding}\r\n`, '0\r\n\r\n'))
    expect(status === 501 ? [501] : [400, 501]).toContain(got)
  })

  it('H18 chunks on HTTP/1.0 are refused', async () => {
    const octets = `POST ${ORDERS} HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`
    expect(await statusOf(octets)).toBe(400)
  })

  it.each([
    'x\r\n',
    '5\r\nab\r\n',
    '-1\r\n',
    '0x1\r\na\r\n',
    '1 \r\na\r\n',
    '1\na\r\n0\r\n\r\n',
    '1\r\naXX0\r\n\r\n',
    'ffffffffffffffffff\r\n',
    '\r\n',
    `1;${'x'.repeat(20_000)}\r\n`,
  ])('H19 broken chunks are refused: %j', async (chunks) => {
    const { headers, ...rest } = system.delivery('{}')
    const octets = write({
      ...rest,
      headers: { ...headers, 'transfer-encoding': 'chunked', 'content-length': undefined },
      body: '',
    })
    const answers = await answersTo(Buffer.concat([octets, Buffer.from(chunks)]))
    expect(answers).toHaveLength(1)
    expect([400, 408, 413]).toContain(answers[0]?.status)
  })

  it('H12 an announced body that is too large is refused before it is sent', async () => {
    for (const target of [WEBHOOK, ORDERS]) {
      const head = write({
        method: 'POST',
        target,
        headers: { 'content-length': '2000000', 'content-type': 'application/json' },
      })
      const received = await firstOctets((socket) => socket.write(head))
      expect(received).toMatch(/^HTTP\/1\.1 413 /)
    }
  })

  it.each([
    ['a body that is too large', WEBHOOK, {}, 413],
    ['two lines of Host', ORDERS, { host: ['a', 'b'] }, 400],
  ] as const)(
    'H12 a client that is still sending %s is answered and not reset',
    async (...[, target, headers, status]) => {
      const size = 3_000_000
      const head = {
        method: 'POST',
        target,
        headers: { ...headers, 'content-length': `${size}`, connection: undefined },
      }
      const socket = connect(system.port, '127.0.0.1')
      const received: Buffer[] = []
      const errors: Error[] = []
      socket.on('data', (chunk) => received.push(chunk)).on('error', (error) => errors.push(error))
      const closed = new Promise((resolve) => socket.on('close', resolve))
      socket.write(write(head))
      socket.write(Buffer.alloc(size / 2))
      await once(socket, 'data')
      // Data that is still on its way after the answer must not cause a reset, which would discard the answer.
      socket.write(Buffer.alloc(size / 2))
      await closed
      expect({ errors, all: socket.bytesWritten > size }).toEqual({ errors: [], all: true })
      const [answer] = parseAnswers(Buffer.concat(received), ['POST']).map(toHttpAnswer)
      expect([answer?.status, answer?.headers.connection]).toEqual([status, 'close'])
    },
  )
})

/** The first octets that come back. The connection is closed after them. */
async function firstOctets(send: (socket: Socket) => void): Promise<string> {
  const { octets } = await system.send(async (socket) => {
    send(socket)
    socket.once('data', () => setTimeout(() => socket.end(), 10))
  })
  return octets.toString('latin1')
}

describe('Expect', () => {
  const expecting = { expect: '100-continue' }
  const post = (headers: HttpCall['headers'] = {}): HttpCall => ({ method: 'POST', target: ORDERS, headers })
  const deliverOf = (headers: HttpCall['headers'] = {}): HttpCall => ({ method: 'POST', target: WEBHOOK, headers })

  it('H14 an acceptable request gets 100, then its answer', async () => {
    const target = unusedPath()
    const { body, ...rest } = { method: 'PUT', target, body: JSON.stringify(orderContent()) }
    const head = write({
      ...rest,
      headers: { ...expecting, 'content-type': 'application/json', 'content-length': `${body.length}` },
    })
    const answers = await answersTo(
      async (socket) => {
        socket.write(head)
        socket.once('data', () => socket.write(body))
      },
      ['PUT'],
    )
    expect(answers.map(({ status }) => status)).toEqual([100, 201])
    expect((await call({ target })).status).toBe(200)
  })

  it('H14 a client that does not wait for the 100 is served too', async () => {
    const target = unusedPath()
    const answers = await answersTo(write({ method: 'PUT', target, headers: expecting, body: orderContent() }), ['PUT'])
    expect(answers.at(-1)?.status).toBe(201)
  })

  it('H14 a delivery gets 100 too', async () => {
    const { headers, ...rest } = system.delivery({ id: randomUUID(), type: 'x', data: { object: { id: 'x' } } })
    const answers = await answersTo(write({ ...rest, headers: { ...headers, ...expecting } }), ['POST'])
    expect(answers.map(({ status }) => status)).toEqual([100, 200])
  })

  const json = { 'content-type': 'application/json' }
  const refusals: { id: string; what: string; request: HttpCall; status: number }[] = [
    { id: 'H15', what: 'too long an order', request: post({ 'content-length': '300000' }), status: 413 },
    { id: 'H15', what: 'too long an event', request: deliverOf({ 'content-length': '2000000' }), status: 413 },
    { id: 'H20', what: 'an unknown path', request: { method: 'POST', target: '/nowhere' }, status: 404 },
    { id: 'H20', what: 'an unknown provider', request: { method: 'POST', target: '/api/webhooks/x' }, status: 404 },
    { id: 'H20', what: 'a method that is not allowed', request: { method: 'PUT', target: ORDERS }, status: 405 },
    { id: 'H20', what: 'a method that nobody has', request: { method: 'PROPFIND', target: ORDERS }, status: 501 },
    { id: 'H20', what: 'nobody’s token', request: post({ authorization: 'Bearer x' }), status: 401 },
    { id: 'H20', what: 'a media type that is not taken', request: post({ 'content-type': 'a/b' }), status: 415 },
    { id: 'H20', what: 'an encoded event', request: deliverOf({ 'content-encoding': 'gzip' }), status: 415 },
    { id: 'H20', what: 'a broken key', request: post({ ...json, 'idempotency-key': '""' }), status: 400 },
    { id: 'H20', what: 'two lines of Host', request: post({ host: ['a', 'b'] }), status: 400 },
    { id: 'H20', what: 'an id that cannot be', request: { method: 'PUT', target: `${ORDERS}/..` }, status: 400 },
  ]

  it.each(refusals)('$id $what is refused without 100, nobody waits for the body', async ({ request, status }) => {
    const headers = { 'content-length': '10', ...expecting, ...request.headers, connection: undefined }
    const [answer, ...more] = await answersTo(write({ ...request, headers }), [request.method ?? 'GET'])
    expect([answer?.status, answer?.headers.connection, more]).toEqual([status, 'close', []])
  })

  it.each(['GET', 'DELETE', 'OPTIONS'])('H20 without a body to come %s is just answered', async (method) => {
    const { target } = await makeOrder(system)
    const octets = write({ method, target, headers: { ...expecting, connection: undefined } })
    expect([200, 204]).toContain(await statusOf(octets, [method]))
  })

  it('H21 other expectations are refused', async () => {
    for (const value of ['x', '200-ok', '100-continue, x']) {
      const [answer] = await answersTo(write({ target: ORDERS, headers: { expect: value } }))
      expect(answer?.status).toBe(417)
    }
  })

  it('H21 HTTP/1.0 has no expectations', async () => {
    const body = JSON.stringify(orderContent())
    const head = write({ method: 'POST', target: ORDERS, headers: expecting, body }).toString('latin1')
    const answers = await answersTo(head.replace('HTTP/1.1', 'HTTP/1.0'), ['POST'])
    expect(answers.map(({ status }) => status)).toEqual([201])
  })
})

describe('time', () => {
  it('H22 150 slow connections keep no other client out', async () => {
    const slow = Array.from({ length: 150 }, () =>
      system.send(async (socket) => {
        socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n')
        while (socket.writable) {
          await sleep(300)
          if (socket.writable) socket.write('X-A: b\r\n')
        }
      }, 5_000),
    )
    await sleep(200)
    const startedAt = performance.now()
    const event = { id: `evt_${randomUUID()}`, type: 'x', data: { object: { id: 'cus_1' } } }
    expect((await deliver(event)).status).toBe(200)
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    for (const { octets, closed } of await Promise.all(slow)) {
      const [answer] = parseAnswers(octets, ['GET']).map(toHttpAnswer)
      expect([closed, answer?.status]).toEqual([true, 408])
    }
  })

  it('H22 more slow connections than allowed keep no other client out either', async () => {
    const sockets = Array.from({ length: 1_200 }, () => connect(system.port, '127.0.0.1').on('error', () => undefined))
    for (const [n, socket] of sockets.entries()) {
      if (n % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n')
      if (n % 3 === 0) socket.write('X: y\r\n\r\nGET')
    }
    await sleep(200)
    for (let n = 0; n < 20; n += 1) {
      const event = { id: `evt_${randomUUID()}`, type: 'x', data: { object: { id: 'cus_1' } } }
      expect((await deliver(event)).status).toBe(200)
    }
    for (const socket of sockets) socket.destroy()
  })

  /** Keeps requests open whose bodies announce `octets` and send `brought` of them. Resolves when all have begun. */
  async function holdBodies(count: number, octets: number, brought: number): Promise<void> {
    const { headers, ...rest } = system.delivery('{}')
    const head = write({ ...rest, headers: { ...headers, 'content-length': `${octets}` }, body: '' })
    const begun = Array.from({ length: count }, () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      void system.send(async (socket) => {
        socket.write(head)
        socket.write(Buffer.alloc(brought, ' '), () => resolve())
      }, 4_000)
      return promise
    })
    await Promise.all(begun)
    await sleep(100)
  }

  it('H22 nor do bodies that announce more than all memory and send nothing', async () => {
    for (const octets of [1_000_000, 40_000, 5_000, 10]) await holdBodies(55, octets, 0)
    for (let n = 0; n < 10; n += 1) {
      const event = { id: `evt_${randomUUID()}`, type: 'x', data: { object: { id: 'cus_1' } } }
      expect((await deliver(event)).status).toBe(200)
    }
  })

  it('H22 nor do bodies that fill the memory and never end: those older than a second are dropped', async () => {
    for (const octets of [1_000_000, 40_000, 5_000, 10]) await holdBodies(55, octets, octets - 1)
    await sleep(1_000)
    for (let n = 0; n < 10; n += 1) {
      const event = { id: `evt_${randomUUID()}`, type: 'x', data: { object: { id: 'cus_1' } } }
      expect((await deliver(event)).status).toBe(200)
    }
  })

  it('H23 a header section that does not end is 408', async () => {
    expect(await statusOf('GET /healthz HTTP/1.1\r\nHost: a\r\n')).toBe(408)
    expect(await statusOf('GE')).toBe(408)
  })

  it('H23 a body that never arrives is 408', async () => {
    for (const { target, headers } of [
      system.delivery('{}'),
      { target: ORDERS, headers: { 'content-type': 'application/json' } },
    ]) {
      const octets = write({ method: 'POST', target, headers: { ...headers, 'content-length': '20' } })
      const [answer] = await answersTo(Buffer.concat([octets, Buffer.from('{"a":')]), ['POST'])
      expect(answer).toMatchObject({ status: 408, json: { code: 'request_timeout' }, headers: { connection: 'close' } })
    }
  })

  it('H23 a body that arrives too slowly is 408', async () => {
    const head = write({
      method: 'POST',
      target: ORDERS,
      headers: { 'content-type': 'application/json', 'content-length': '200' },
    })
    const drip = async (socket: Socket): Promise<void> => {
      socket.write(head)
      while (socket.writable) {
        socket.write(' ')
        await sleep(100)
      }
    }
    expect(await statusOf(drip, ['POST'])).toBe(408)
  })

  it('H24 a client that hangs up during its request leaves no trace', async () => {
    const before = await system.events.countDocuments()
    const whole = write(system.delivery({ id: randomUUID(), type: 'x', data: { object: { id: 'x' } } }))
    for (const share of [0.3, 0.8, 0.99]) {
      const { octets } = await system.send(async (socket) => {
        socket.write(whole.subarray(0, Math.floor(whole.length * share)))
        await sleep(20)
        socket.resetAndDestroy()
      }, 200)
      expect(octets.length).toBe(0)
    }
    expect(await system.events.countDocuments()).toBe(before)
  })
})

describe('several requests on one connection', () => {
  it('H25 are answered and executed in order', async () => {
    const target = unusedPath()
    const keep = { connection: undefined }
    const octets = Buffer.concat([
      write({ method: 'PUT', target, headers: keep, body: orderContent({ note: 'one' }) }),
      write({ method: 'PATCH', target, headers: { ...keep, 'if-match': '"1"' }, body: { note: 'two' } }),
      write({ target, headers: keep }),
      write({ method: 'DELETE', target, headers: { ...keep, 'if-match': '"2"' } }),
      write({ method: 'HEAD', target, headers: keep }),
      write({ method: 'PUT', target, body: orderContent({ note: 'three' }) }),
    ])
    const answers = await answersTo(octets, ['PUT', 'PATCH', 'GET', 'DELETE', 'HEAD', 'PUT'])
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 204, 404, 201])
    expect(answers[2]?.json.note).toBe('two')
  })

  it.each([
    'GARBAGE\r\n\r\n',
    '\0\xff\x01',
    'GET /healthz HTTP/1.1\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n',
  ])('H26 a valid request is answered before the garbage after it: %j', async (garbage) => {
    const { target, text } = await makeOrder(system)
    const good = write({ target, headers: { connection: undefined } })
    const answers = await answersTo(Buffer.concat([good, Buffer.from(garbage, 'latin1')]), ['GET', 'GET'])
    expect(answers.map(({ status }) => status)).toEqual([200, 400])
    expect(answers[0]?.text).toBe(text)
  })

  it('H26 the valid request is executed, whatever follows it and when', async () => {
    const target = unusedPath()
    const good = write({ method: 'PUT', target, headers: { connection: undefined }, body: orderContent() })
    const answers = await answersTo(
      async (socket) => {
        socket.write(good)
        socket.write(Buffer.from('\0\0'))
        await sleep(1)
        socket.write(Buffer.from('more garbage\r\n\r\n'))
      },
      ['PUT', 'GET'],
    )
    expect(answers.map(({ status }) => status)).toEqual([201, 400])
    expect((await call({ target })).status).toBe(200)
  })

  it('H27 a body that was not read does not become the next request', async () => {
    const smuggled = get('Host: a\r\nConnection: close\r\n')
    const octets = Buffer.concat([
      write({
        method: 'POST',
        target: ORDERS,
        headers: { connection: undefined, authorization: 'Bearer x' },
        body: smuggled,
      }),
      Buffer.from(smuggled),
    ])
    const answers = await answersTo(octets, ['POST', 'GET'])
    expect(answers.map(({ status }) => status)).toEqual([401, 200])
  })

  it('H27 an answer before the body is not followed by a second one if the body never arrives', async () => {
    const head = write({ target: '/healthz', headers: { connection: undefined, 'content-length': '10' } })
    expect(await statusOf(head)).toBe(200)
    const chunked = { connection: undefined, 'transfer-encoding': 'chunked' }
    const broken = Buffer.concat([write({ target: '/healthz', headers: chunked }), Buffer.from('5\r\nab')])
    expect(await statusOf(broken)).toBe(200)
  })

  it('H28 an idle client keeps its connection, and may send a second request', async () => {
    const answers = await answersTo(
      async (socket) => {
        socket.write(get('Host: a\r\n'))
        await sleep(1_500)
        socket.write(get('Host: a\r\nConnection: close\r\n'))
      },
      ['GET', 'GET'],
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
  })

  it('H29 no client can keep a connection open that we have ended', async () => {
    const socket = connect({ port: system.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.write('nonsense\r\n\r\n')
    socket.resume()
    await once(socket, 'end')
    await sleep(1_500)
    // A half-open connection would accept this. A closed one answers with a reset.
    const reset = once(socket, 'error', { signal: AbortSignal.timeout(10_000) })
    socket.write('x')
    await sleep(50)
    socket.write('x')
    expect(await reset).toMatchObject([{ code: expect.stringMatching(/ECONNRESET|EPIPE/) }])
  })
})
