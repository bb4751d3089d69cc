import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { guardFraming } from './framing-guard.ts'
import { listen } from './listen.ts'
import { startOf } from './request-start.ts'

/** How long ago each request began when it was taken, on one connection, and what sends there. */
async function opened(resources: AsyncDisposableStack, { answerAfterMs = 0, headersTimeoutMs = 5_000 } = {}) {
  const ages: number[] = []
  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    ages.push(performance.now() - startOf(request))
    setTimeout(() => response.end('ok'), answerAfterMs)
  }
  const guarded = guardFraming({ handler, makeRequestId: randomUUID, onRefused: () => undefined })
  const listener = await listen({ host: '127.0.0.1', port: 0, ...guarded, headersTimeoutMs })
  resources.defer(() => listener.close(0))
  const socket = connect(listener.port, '127.0.0.1')
  resources.defer(() => void socket.destroy())
  return { ages, socket }
}

function answers(socket: Socket, count: number): Promise<void> {
  let text = ''
  return new Promise((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (text.split('HTTP/1.1 200').length > count) resolve()
    })
  })
}

const HEAD = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

describe('startOf', () => {
  it('is when the first octet came of a head that takes its time, on a new connection and on a used one', async () => {
    await using resources = new AsyncDisposableStack()
    const { ages, socket } = await opened(resources)
    for (const count of [1, 2]) {
      const answered = answers(socket, 1)
      socket.write(HEAD.slice(0, 5))
      await sleep(1_000)
      socket.write(HEAD.slice(5))
      await answered
      expect(ages).toHaveLength(count)
      // The connection rests for longer than the server takes to see that the request is over.
      await sleep(600)
    }
    for (const age of ages) expect(age).toBeGreaterThan(700)
  })

  it('does not count the rest between two requests, nor octets that belong to none', async () => {
    await using resources = new AsyncDisposableStack()
    const { ages, socket } = await opened(resources, { headersTimeoutMs: 100 })
    const answered = answers(socket, 3)
    // The body of the first comes after its answer, and an empty line behind it.
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n')
    await sleep(600)
    socket.write('{}')
    await sleep(600)
    socket.write('\r\n')
    await sleep(2_000)
    socket.write(HEAD)
    await sleep(600)
    socket.write(HEAD)
    await answered
    expect(ages).toHaveLength(3)
    for (const age of ages) expect(age).toBeLessThan(300)
  })

  it('is when it came of a request that waits for an earlier one of its connection', async () => {
    await using resources = new AsyncDisposableStack()
    const { ages, socket } = await opened(resources, { answerAfterMs: 300 })
    const answered = answers(socket, 2)
    socket.write(HEAD + HEAD)
    await answered
    expect(ages[1]).toBeGreaterThan(250)
  })
})
