import type { RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { guardFraming } from './framing-guard.ts'
import { listen } from './listen.ts'

const HOST = '127.0.0.1'
const REQUEST = 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n'

async function opened(handler: RequestListener) {
  const refused: unknown[] = []
  const guarded = guardFraming({
    handler,
    makeRequestId: () => 'made-here',
    onRefused: ({ error, ...rest }) => refused.push({ ...rest, code: error.code, reason: error.details.reason }),
  })
  const listener = await listen({ host: HOST, port: 0, ...guarded })
  return { refused, port: listener.port, [Symbol.asyncDispose]: () => listener.close(0) }
}

function opening(port: number): Socket {
  return connect(port, HOST).on('error', () => undefined)
}

describe('pipelined requests', () => {
  it('are all answered, one after the other', async () => {
    let handled = 0
    await using listener = await opened((_request, response) => {
      handled += 1
      const number = handled
      setImmediate(() => response.end(`answer ${number};`))
    })
    const socket = opening(listener.port)
    socket.write(`${REQUEST.repeat(7)}${REQUEST.replace('Host', 'Connection: close\r\nHost')}`)
    const answers = (await text(socket)).match(/answer \d+/g)
    expect(answers).toEqual(Array.from({ length: 8 }, (_, at) => `answer ${at + 1}`))
    expect(listener.refused).toEqual([])
  })

  it.each([9, 10_000])(
    'that are %i behind a slow one close their connection, and its memory is freed',
    async (count) => {
      let handled = 0
      await using listener = await opened(() => {
        handled += 1
      })
      const socket = opening(listener.port)
      socket.resume().write(REQUEST.repeat(count))
      await new Promise((resolve) => socket.once('close', resolve))
      expect(handled).toBe(1)
      expect(listener.refused).toEqual([
        { requestId: 'made-here', method: 'GET', code: 'bad_request', reason: 'pipelined' },
      ])
    },
  )
})
