import { unavailable } from '@oncehook/kernel/http/error-codes'
import { countCpuTime } from '@oncehook/kernel/testing/cpu-time'
import { describe, expect, it } from 'vitest'
import type { TaskEvent } from './task-event.ts'
import { createTrpcCall } from './trpc-call.ts'

const TIMEOUT_MS = 1_000

/** What the handler answers to a call with these tasks. */
type Answer = (keys: readonly string[]) => Response | Promise<Response>

function setUp(answer: Answer) {
  const calls: string[][] = []
  const clock = { now: 5_000 }
  const call = createTrpcCall({
    ...{ handler: 'search', url: new URL('http://search.test/trpc'), timeoutMs: TIMEOUT_MS },
    now: () => clock.now,
    tokens: { issue: async () => 'token' },
    async fetch(_, { body }) {
      const { events } = JSON.parse(String(body)) as { events: { key: string }[] }
      const keys = events.map(({ key }) => key)
      calls.push(keys)
      return answer(keys)
    },
  })
  return { call: (keys: string) => call(Array.from(keys, taskOf)), calls, clock }
}

function taskOf(key: string): TaskEvent {
  return { key, attempt: 1, json: JSON.stringify({ key }) }
}

function done(keys: readonly string[]): Response {
  return Response.json({ result: { data: { results: keys.map(() => ({ done: true })) } } })
}

/** Answers with this if the task `x` is among those of the call. */
const atX =
  (answer: () => Response): Answer =>
  (keys) =>
    keys.includes('x') ? answer() : done(keys)

const status = (code: number) => () => new Response('{}', { status: code })

describe('createTrpcCall', () => {
  it.each([
    ['answers 400', status(400), 'handler_unreadable'],
    ['answers 413', status(413), 'handler_unreadable'],
    ['answers 500', status(500), 'handler_failed'],
    ['answers 501', status(501), 'handler_failed'],
    ['gives no JSON', () => new Response('<html>'), 'handler_failed'],
    ['gives a result less', () => done([]), 'handler_failed'],
    ['gives an answer that is too long', () => new Response('x'.repeat(2_000_000)), 'handler_failed'],
  ])('finds the task at which the handler %s, so that it holds up no other', async (_, answer, refused) => {
    const { call, calls } = setUp(atX(answer))
    const answers = await call('abxd')
    expect(answers).toMatchObject([{ done: true }, { done: true }, { refused, retry: 'later' }, { done: true }])
    expect(calls.map((keys) => keys.join(''))).toEqual(['abxd', 'ab', 'xd', 'x', 'd'])
  })

  it.each([
    ['more results than an answer has room for', 520_000],
    ['many results for few tasks', 30_000],
  ])('spends no time on %s', async (_, count) => {
    const results = Array.from({ length: count }, () => 0)
    const text = JSON.stringify({ result: { data: { results } } })
    const { call } = setUp(() => new Response(text))
    const spent = countCpuTime()
    const answers = await call('abcdefgh')
    expect(spent()).toBeLessThan(500)
    expect(answers).toHaveLength(8)
    expect(new Set(answers.map((answer) => 'refused' in answer && answer.refused))).toEqual(new Set(['handler_failed']))
  })

  it('reads no more of an answer than the results of its tasks can have', async () => {
    let bytes = 0
    const endless = (): ReadableStream => {
      const chunk = Buffer.alloc(16_384, 'x')
      const pull = (controller: ReadableStreamDefaultController): void => {
        bytes += chunk.length
        controller.enqueue(chunk)
      }
      return new ReadableStream({ pull }, { highWaterMark: 0 })
    }
    const { call } = setUp(() => new Response(endless()))
    await call('a')
    expect(bytes).toBeLessThan(128 * 1024)
  })

  it.each([
    ['nothing more', {}, { message: 'Refused by the handler: not_yet' }],
    ['why', { message: 'The plan is unknown' }, { message: 'Refused by the handler: not_yet (The plan is unknown)' }],
    ['when to try again', { retryAfter: 7 }, { message: 'Refused by the handler: not_yet', afterMs: 7_000 }],
    [
      'why and when in another form, as an earlier handler may',
      { message: { text: 'x' }, retryAfter: 'soon' },
      { message: 'Refused by the handler: not_yet' },
    ],
    ['a time in the past', { retryAfter: -1 }, { message: 'Refused by the handler: not_yet' }],
    ['an empty reason', { message: ' \n' }, { message: 'Refused by the handler: not_yet' }],
    [
      'a long reason with line breaks',
      { message: `a\r\n\0b${'x'.repeat(300)}` },
      { message: `Refused by the handler: not_yet (a b${'x'.repeat(197)})` },
    ],
    [
      'what would be shown in another order or on other lines',
      { message: 'due\u202e\u2066 today\u2028\u2029paid\u200b' },
      { message: 'Refused by the handler: not_yet (due  today paid)' },
    ],
  ])('reads a refusal that says %s', async (_, said, read) => {
    const { call } = setUp(() =>
      Response.json({ result: { data: { results: [{ refused: 'not_yet', retry: 'later', ...said }] } } }),
    )
    expect(await call('a')).toEqual([{ refused: 'not_yet', retry: 'later', ...read }])
  })

  it('blames no task for a connection that breaks in the middle of the answer', async () => {
    const body = () => new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
    const { call } = setUp(() => new Response(body()))
    const error = await call('ab').catch((thrown: unknown) => thrown)
    expect(unavailable.is(error) && error.details).toEqual({ reason: 'not_reached' })
  })

  it('divides a batch for twice the time of a call at most, and keeps the answers that it has', async () => {
    const system = setUp((keys) => {
      system.clock.now += 600
      return atX(status(500))(keys)
    })
    const answers = await system.call('abxd')
    expect(system.calls.map((keys) => keys.join(''))).toEqual(['abxd', 'ab', 'xd', 'x'])
    const [a, b, x, d] = answers
    expect([a, b]).toEqual([{ done: true }, { done: true }])
    expect(x).toMatchObject({ refused: 'handler_failed' })
    expect(d).toMatchObject({ refused: 'handler_unreadable', retry: 'later' })
  })

  it('sends a limited number of calls, even if the handler fails at once on every task', async () => {
    const { call, calls } = setUp(status(500))
    const answers = await call('x'.repeat(500))
    expect(calls.length).toBeLessThanOrEqual(100)
    expect(answers).toHaveLength(500)
    const codes = answers.map((answer) => 'refused' in answer && answer.refused)
    expect(new Set(codes)).toEqual(new Set(['handler_failed', 'handler_unreadable']))
  })

  it('keeps the answers that it has if the handler disappears, and sends no more', async () => {
    const { call, calls } = setUp((keys) => {
      if (keys.length === 1) throw new TypeError('fetch failed')
      return atX(status(500))(keys)
    })
    const answers = await call('abxd')
    const away = { refused: 'unavailable', retry: 'later' }
    expect(answers).toMatchObject([{ done: true }, { done: true }, away, away])
    expect(calls.at(-1)).toEqual(['x'])
  })
})
