import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { toHttpAnswer } from '../support/http/http-answer.ts'
import { makeOrder, ORDERS } from '../support/http/http-orders.ts'
import { WEBHOOK } from '../support/http/http-system.ts'
import { get, post, startImpatientSystem } from '../support/http/impatient-system.ts'
import { parseAnswers } from '../support/http/raw-http.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startImpatientSystem())
const { answersTo, call, statusOf, write } = system
afterEach(() => system.expectAnswers())

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

  it('H06 HTTP/1.0 needs no Host and gets no chunks', async () => {
    const [answer] = await answersTo(get('', '/healthz', 'HTTP/1.0'))
    expect(answer).toMatchObject({ status: 200, json: { status: 'ok' } })
    expect(answer?.headers).not.toHaveProperty('transfer-encoding')
  })

  it.each(['HTTP/2.0', 'HTTP/3.0', 'HTTP/9.9'])('H07 %s is another protocol', async (version) => {
    expect(await statusOf(get('Host: a\r\nConnection: close\r\n', '/healthz', version))).toBe(505)
  })

  it.each([
    'GET /healthz HTTP/0.9\r\nHost: a\r\n\r\n',
    'GET /health z HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /healthz http/1.1\r\nHost: a\r\n\r\n',
    ' GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'NONSENSE /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  ])('H08 no request line: %j', async (octets) => {
    expect([400, 505]).toContain(await statusOf(octets))
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
    ['NUL in a value', 'Host: a\r\nX-A: b\0c\r\n'],
    ['a bare CR', 'Host: a\r\nX-A: b\rX-B: c\r\n'],
    ['a bare LF', 'Host: a\nX-A: b\r\n'],
    ['a bare LF', 'Host: a\r\nX-A: b\nX-B: c\r\n'],
    ['a name that is no token', 'Host: a\r\nX(A): b\r\n'],
  ])('H09 %s is refused: %j', async (_, lines) => {
    expect(await statusOf(get(lines))).toBe(400)
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
    'Content-Length: 0x2\r\n',
    'Content-Length: 99999999999999999999\r\n',
    'Content-Length:\r\n',
  ])('H05 an invalid length is refused: %j', async (lines) => {
    expect(await statusOf(post(lines, '{}'))).toBe(400)
  })

  it.each([
    ['gzip, chunked', 501],
    ['gzip', 400],
    ['chunked, chunked', 400],
    ['xchunked', 400],
    ['chunked\r\nTransfer-Encoding: chunked', 400],
    ['\x0bchunked', 400],
    ['', 400],
  ])('H17 Transfer-Encoding: %j is refused', async (coding, status) => {
    const got = await statusOf(post(`Transfer-Encoding: ${coding}\r\n`, '0\r\n\r\n'))
    expect(status === 501 ? [501] : [400, 501]).toContain(got)
  })

  it('H18 chunks on HTTP/1.0 are refused', async () => {
    const octets = `POST ${ORDERS} HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`
    expect(await statusOf(octets)).toBe(400)
  })

  it.each(['5\r\nab\r\n', '-1\r\n', '1\na\r\n0\r\n\r\n', '1\r\naXX0\r\n\r\n', `1;${'x'.repeat(20_000)}\r\n`])(
    'H19 broken chunks are refused: %j',
    async (chunks) => {
      const { headers, ...rest } = system.delivery('{}')
      const octets = write({
        ...rest,
        headers: { ...headers, 'transfer-encoding': 'chunked', 'content-length': undefined },
        body: '',
      })
      const answers = await answersTo(Buffer.concat([octets, Buffer.from(chunks)]))
      expect(answers).toHaveLength(1)
      expect([400, 408, 413]).toContain(answers[0]?.status)
    },
  )

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
