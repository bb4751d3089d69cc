import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { toHttpAnswer } from '../support/http/http-answer.ts'
import { makeOrder, ORDERS, orderContent, unusedPath } from '../support/http/http-orders.ts'
import { type HttpCall, WEBHOOK } from '../support/http/http-system.ts'
import { startImpatientSystem } from '../support/http/impatient-system.ts'
import { parseAnswers } from '../support/http/raw-http.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startImpatientSystem())
const { answersTo, call, deliver, statusOf, write } = system
afterEach(() => system.expectAnswers())

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
    { id: 'H20', what: 'a method that is not allowed', request: { method: 'PUT', target: ORDERS }, status: 405 },
    { id: 'H20', what: 'nobody’s token', request: post({ authorization: 'Bearer x' }), status: 401 },
    { id: 'H20', what: 'a broken key', request: post({ ...json, 'idempotency-key': '""' }), status: 400 },
  ]

  it.concurrent.each(refusals)(
    '$id $what is refused without 100, nobody waits for the body',
    async ({ request, status }) => {
      const headers = { 'content-length': '10', ...expecting, ...request.headers, connection: undefined }
      const [answer, ...more] = await answersTo(write({ ...request, headers }), [request.method ?? 'GET'])
      expect([answer?.status, answer?.headers.connection, more]).toEqual([status, 'close', []])
    },
  )

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
})

describe('a slow sender:', () => {
  it('H22 150 slow connections keep no other client out', async () => {
    const slow = Array.from({ length: 150 }, () =>
      system.send(async (socket) => {
        socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n')
        while (socket.writable) {
          // How slow they are.
          await sleep(300)
          if (socket.writable) socket.write('X-A: b\r\n')
        }
      }, 5_000),
    )
    // The connections reach the server. If some do not, the test is easier.
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
    // As above.
    await sleep(100)
  }

  it('H22 nor do bodies that fill the memory and never end: those older than a second are dropped', async () => {
    for (const octets of [1_000_000, 40_000, 5_000, 10]) await holdBodies(55, octets, octets - 1)
    // They get older than a second. A busy machine makes them older still.
    await sleep(1_000)
    for (let n = 0; n < 10; n += 1) {
      const event = { id: `evt_${randomUUID()}`, type: 'x', data: { object: { id: 'cus_1' } } }
      expect((await deliver(event)).status).toBe(200)
    }
  })

  it.concurrent('H23 a header section that does not end is 408', async () => {
    const statuses = ['GET /healthz HTTP/1.1\r\nHost: a\r\n', 'GE'].map((octets) => statusOf(octets))
    expect(await Promise.all(statuses)).toEqual([408, 408])
  })

  const unfinished: { what: string; request: HttpCall }[] = [
    { what: 'an event', request: system.delivery('{}') },
    { what: 'an order', request: { target: ORDERS, headers: { 'content-type': 'application/json' } } },
  ]

  it.concurrent.each(unfinished)('H23 a body of $what that never arrives is 408', async ({ request }) => {
    const { target, headers } = request
    const octets = write({ method: 'POST', target, headers: { ...headers, 'content-length': '20' } })
    const [answer] = await answersTo(Buffer.concat([octets, Buffer.from('{"a":')]), ['POST'])
    expect(answer).toMatchObject({ status: 408, json: { code: 'request_timeout' }, headers: { connection: 'close' } })
  })

  it.concurrent('FP-20: H23 a body that arrives too slowly is 408', async () => {
    const head = write({
      method: 'POST',
      target: ORDERS,
      headers: { 'content-type': 'application/json', 'content-length': '200' },
    })
    const drip = async (socket: Socket): Promise<void> => {
      socket.write(head)
      while (socket.writable) {
        socket.write(' ')
        // How slow the body is.
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
        // The octets reach the server. If they do not, the test is easier.
        await sleep(20)
        socket.resetAndDestroy()
      }, 200)
      expect(octets.length).toBe(0)
    }
    expect(await system.events.countDocuments()).toBe(before)
  })
})
