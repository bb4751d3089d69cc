import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { readAnswer } from './http-connection.ts'
import { sendClosed, sendOpen } from './load.ts'

// No assertion has an upper bound on a time, so all of them pass on the slowest machine.

type Answer = (response: ServerResponse, number: number) => void

const accept: Answer = (response) => void response.end('{}')

async function serve(answer: Answer) {
  let taken = 0
  const server = createServer((request, response) => {
    taken += 1
    const number = taken
    request.resume().on('end', () => answer(response, number))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    taken: () => taken,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Answers at once before delivery number `first`. From then on it holds all answers until `ms` have passed. */
function stallingOnce(first: number, ms: number): Answer {
  let stalled: Promise<unknown> | undefined
  return (response, number) => {
    if (number >= first) stalled ??= new Promise((resolve) => setTimeout(resolve, ms))
    void Promise.resolve(stalled).then(() => accept(response, number))
  }
}

function deliveries(count: number) {
  const request = Buffer.from('POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 2\r\n\r\n{}')
  return Array.from({ length: count }, (_, index) => ({ eventId: `evt_${index}`, request }))
}

const now = (): number => performance.timeOrigin + performance.now()

describe('sendOpen', () => {
  it('counts the wait for a stalled server, also for deliveries that it could not send meanwhile', async () => {
    await using server = await serve(stallingOnce(20, 600))
    const plan = { kind: 'open', connections: 2, perSecond: 200 } as const
    const report = await sendOpen(plan, { url: server.url, deliveries: deliveries(200), now })
    expect(report.acknowledged).toHaveLength(200)
    expect(report.failed).toEqual({})
    // 60 of the 200 fall due in the first 300 ms of the stall, and each of them waits for at least 300 ms more. The two
    // connections carried only two of them: a sender that measures from the instant of sending would see two slow ones.
    expect(report.latency.p90).toBeGreaterThanOrEqual(290)
    expect(report.latency.max).toBeGreaterThanOrEqual(590)
  })

  it('counts unanswered and unsent deliveries as failed', async () => {
    await using server = await serve((response, number) => void (number <= 3 && accept(response, number)))
    const plan = { kind: 'open', connections: 2, perSecond: 100 } as const
    const report = await sendOpen(plan, { url: server.url, deliveries: deliveries(30), now }, 2_000)
    expect(report.acknowledged).toHaveLength(3)
    expect(report.failed).toEqual({ unanswered: 2, unsent: 25 })
  })

  it('sends no delivery before it is due', async () => {
    await using server = await serve(accept)
    const plan = { kind: 'open', connections: 4, perSecond: 100 } as const
    const report = await sendOpen(plan, { url: server.url, deliveries: deliveries(20), now })
    expect(report.endedAt - report.beganAt).toBeGreaterThanOrEqual(190)
  })
})

describe('sendClosed', () => {
  it('sends every delivery once when there is time for all', async () => {
    await using server = await serve(accept)
    const plan = { kind: 'closed', connections: 8, forMs: 60_000 } as const
    const report = await sendClosed(plan, { url: server.url, deliveries: deliveries(500), now })
    expect(new Set(report.acknowledged).size).toBe(500)
    expect(server.taken()).toBe(500)
  })

  it('begins nothing after its time and waits for deliveries in progress', async () => {
    let instant = 0
    const held: ServerResponse[] = []
    await using server = await serve((response) => {
      held.push(response)
      if (held.length < 3) return
      instant = 1_000
      for (const one of held) accept(one, 0)
    })
    const plan = { kind: 'closed', connections: 3, forMs: 1_000 } as const
    const report = await sendClosed(plan, { url: server.url, deliveries: deliveries(1_000), now: () => instant })
    expect(report.acknowledged).toHaveLength(3)
    expect(report.failed).toEqual({})
  })

  it('counts refusals by status and continues after a broken connection', async () => {
    await using server = await serve((response, number) => {
      response.statusCode = number === 1 ? 503 : 200
      if (number === 2) response.destroy()
      else accept(response, number)
    })
    const plan = { kind: 'closed', connections: 1, forMs: 60_000 } as const
    const report = await sendClosed(plan, { url: server.url, deliveries: deliveries(4), now })
    expect(report.failed).toEqual({ 503: 1, broken: 1 })
    expect(report.acknowledged).toEqual(['evt_2', 'evt_3'])
  })
})

describe('readAnswer', () => {
  it('waits until every byte of the answer is there, and sees that the server closes the connection', () => {
    const bytes = Buffer.from('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}')
    for (let length = 0; length < bytes.length; length += 1) expect(readAnswer(bytes.subarray(0, length))).toBeNull()
    expect(readAnswer(bytes)).toEqual({ status: 413, bytes: bytes.length, last: true })
  })

  it('refuses an answer whose end it cannot find', () => {
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
    expect(() => readAnswer(Buffer.from(chunked))).toThrow('no Content-Length')
  })
})
