import { describe, expect, it, vi } from 'vitest'
import { EventStream } from './event-stream.ts'

/** A server whose answers are given one after the other; then it does not answer until the client leaves. */
function serverOf(...answers: readonly Response[]) {
  const asked: Headers[] = []
  const left = [...answers]
  const fetch: typeof globalThis.fetch = (_, init) => {
    asked.push(new Headers(init?.headers))
    const answer = left.shift()
    if (answer !== undefined) return Promise.resolve(answer)
    return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('left'))))
  }
  return { asked, fetch }
}

/** Follows a stream until its server has been asked as often as wanted. */
async function follow(server: ReturnType<typeof serverOf>, requests: number) {
  const heard: string[] = []
  vi.useFakeTimers()
  const headers = () => ({ authorization: 'Bearer one' })
  const onRefused = (status: number): void => void heard.push(`refused ${status}`)
  const stream = new EventStream('/stream', { fetch: server.fetch, headers, onRefused })
  for (const type of ['message', 'ping', 'error']) {
    stream.addEventListener(type, (event) => {
      heard.push(event instanceof MessageEvent ? `${type} ${event.data} ${event.lastEventId}` : type)
    })
  }
  while (server.asked.length < requests) await vi.advanceTimersByTimeAsync(1_000)
  stream.close()
  vi.useRealTimers()
  return heard
}

function chunks(...texts: readonly string[]): Response {
  const body = new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
  })
  return new Response(body)
}

describe('EventStream', () => {
  it('reports events with their types and ids, however they are cut into chunks', async () => {
    const server = serverOf(chunks('event: pi', 'ng\ndata: \n\n: nothing\n\nda', 'ta: {"a":1}\nid: 7\n\n'))
    expect(await follow(server, 2)).toEqual(['ping  ', 'message {"a":1} 7', 'error'])
  })

  it('sends its headers, and connects again after the last event', async () => {
    const server = serverOf(chunks('data: 1\nid: 7\n\n'), chunks('data: 2\nid: 8\n\n'))
    expect(await follow(server, 3)).toEqual(['message 1 7', 'error', 'message 2 8', 'error'])
    expect(server.asked.map((headers) => [headers.get('authorization'), headers.get('last-event-id')])).toEqual([
      ...[
        ['Bearer one', null],
        ['Bearer one', '7'],
        ['Bearer one', '8'],
      ],
    ])
  })

  it('says which status refused it, and tries again', async () => {
    const server = serverOf(new Response('no', { status: 503 }), chunks('data: 1\n\n'))
    expect(await follow(server, 3)).toEqual(['refused 503', 'error', 'message 1 ', 'error'])
  })

  it('is silent after it was closed', async () => {
    const { fetch, asked } = serverOf()
    const stream = new EventStream('/stream', { fetch, headers: () => ({}), onRefused: () => undefined })
    const heard: string[] = []
    stream.addEventListener('error', () => heard.push('error'))
    stream.close()
    await Promise.resolve()
    expect([asked.length, stream.readyState, heard]).toEqual([1, stream.CLOSED, []])
  })
})
