import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { makeOrder, ORDERS, orderContent, unusedPath } from '../support/http/http-orders.ts'
import { get, startImpatientSystem } from '../support/http/impatient-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startImpatientSystem())
const { answersTo, statusOf, write } = system
afterEach(() => system.expectAnswers())

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
        // How long the client is idle.
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
    // The server closes what a client leaves half open, which nothing shows here.
    await sleep(1_500)
    // A half-open connection would accept this. A closed one answers with a reset.
    const reset = once(socket, 'error', { signal: AbortSignal.timeout(10_000) })
    socket.write('x')
    // The reset arrives, so that this write fails at once.
    await sleep(50)
    socket.write('x')
    expect(await reset).toMatchObject([{ code: expect.stringMatching(/ECONNRESET|EPIPE/) }])
  })
})
