import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { guardFraming } from './framing-guard.ts'
import { listen } from './listen.ts'
import { startOf } from './request-start.ts'

// Time advances only when a test says so, so a slow machine does not change ages.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Not `expect.poll`, which advances fake time. */
async function untilTrue(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await endOfTurn()
}

/** One connection to a server, functions that send on it, and the age of each request when it was accepted. */
async function opened(resources: AsyncDisposableStack, { headersTimeoutMs = 5_000 } = {}) {
  const ages: number[] = []
  const finished: Promise<unknown>[] = []
  let held = Promise.resolve()
  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    ages.push(performance.now() - startOf(request))
    finished.push(once(response, 'finish'))
    void held.then(() => response.end('ok'))
  }
  const guarded = guardFraming({ handler, makeRequestId: randomUUID, onRefused: () => undefined })
  const connected = Promise.withResolvers<Socket>()
  let come = 0
  const prepare = (server: Server): void => {
    guarded.prepare(server)
    server.once('connection', connected.resolve)
    server.on('request', () => {
      come += 1
    })
  }
  const listener = await listen({ host: '127.0.0.1', port: 0, handler: guarded.handler, prepare, headersTimeoutMs })
  resources.defer(() => listener.close(0))
  const socket = connect(listener.port, '127.0.0.1').resume()
  resources.defer(() => void socket.destroy())
  const { promise: far } = connected
  let written = 0
  return {
    ages,
    /** Resolves when the server has read it. */
    async send(text: string): Promise<void> {
      socket.write(text)
      written += text.length
      const reader = await far
      await untilTrue(() => reader.bytesRead === written)
    },
    /** Resolves when this number of requests is answered. */
    async untilAnswered(count: number): Promise<void> {
      await untilTrue(() => finished.length === count)
      await Promise.all(finished)
    },
    untilCome: (count: number) => untilTrue(() => come === count),
    /** Holds all responses back until the returned function is called. */
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
  }
}

const HEAD = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

describe('startOf', () => {
  it('is the time of the first byte of a slow head, on a new connection and on a used one', async () => {
    await using resources = new AsyncDisposableStack()
    const { ages, send, untilAnswered } = await opened(resources)
    for (const count of [1, 2]) {
      await send(HEAD.slice(0, 5))
      vi.advanceTimersByTime(1_000)
      await send(HEAD.slice(5))
      await untilAnswered(count)
      // The connection is idle for longer than the server takes to notice the end of the request.
      vi.advanceTimersByTime(600)
    }
    expect(ages).toHaveLength(2)
    for (const age of ages) {
      expect(age).toBeGreaterThanOrEqual(1_000)
      expect(age).toBeLessThanOrEqual(1_200)
    }
  })

  it('does not count the pause between two requests, nor bytes that belong to none', async () => {
    await using resources = new AsyncDisposableStack()
    const { ages, send, untilAnswered } = await opened(resources, { headersTimeoutMs: 100 })
    // The body of the first request arrives after its response, followed by an empty line.
    await send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n')
    await untilAnswered(1)
    vi.advanceTimersByTime(600)
    await send('{}')
    vi.advanceTimersByTime(600)
    await send('\r\n')
    vi.advanceTimersByTime(2_000)
    await send(HEAD)
    await untilAnswered(2)
    vi.advanceTimersByTime(600)
    await send(HEAD)
    await untilAnswered(3)
    expect(ages).toEqual([0, 0, 0])
  })

  it('is when it came of a request that waits for an earlier one of its connection', async () => {
    await using resources = new AsyncDisposableStack()
    const { ages, send, untilAnswered, untilCome, hold } = await opened(resources)
    const release = hold()
    await send(HEAD + HEAD)
    await untilCome(2)
    vi.advanceTimersByTime(300)
    release()
    await untilAnswered(2)
    expect(ages).toEqual([0, 300])
  })
})
