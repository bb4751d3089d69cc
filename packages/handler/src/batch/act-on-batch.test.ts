import { expect, it, vi } from 'vitest'
import { type HandlerEvent, readEvent } from '../handler-event.ts'
import { createMetrics } from '../metrics.ts'
import type { ProcessTogether } from '../process-event.ts'
import { createActOnBatch } from './act-on-batch.ts'

const DONE = { outcome: 'done', repeated: false } as const
const FAILED = { status: 500, error: 'failed', retry: 'later', message: 'The event failed' } as const

function eventOf(key: string): HandlerEvent {
  const event = readEvent(key, Buffer.from('{"type":"invoice.paid"}'))
  if (event === null) throw new Error('The event of the test is invalid')
  return event
}

function create(together: ProcessTogether) {
  const one = vi.fn(async ({ key }: HandlerEvent) => (key.startsWith('bad') ? FAILED : DONE))
  const act = createActOnBatch({ concurrency: 2, metrics: createMetrics('test'), one, together })
  const ended = vi.fn()
  return { one, ended, act: (events: readonly (HandlerEvent | null)[]) => act(events, 60_000, ended) }
}

it('acts alone on the events that are left when others were done together, and answers in their order', async () => {
  const together = vi.fn(async (events: readonly HandlerEvent[]) => {
    return new Map(events.filter(({ key }) => key.startsWith('ok')).map((event) => [event, DONE] as const))
  })
  const { act, one, ended } = create(together)
  const events = ['left', 'ok_1', 'bad', 'ok_2'].map(eventOf)
  const answers = await act([...events.slice(0, 2), null, ...events.slice(2)])
  const done = { done: true }
  expect(answers).toMatchObject([done, done, { refused: 'not_an_event' }, { refused: 'failed' }, done])
  expect(one.mock.calls.map(([{ key }]) => key)).toEqual(['left', 'bad'])
  expect(ended).toHaveBeenCalledOnce()
})

it('puts at most fifty events together', async () => {
  const sizes: number[] = []
  const { act, one } = create(async (events) => {
    sizes.push(events.length)
    return new Map(events.map((event) => [event, DONE]))
  })
  const answers = await act(Array.from({ length: 120 }, (_, index) => eventOf(`ok_${index}`)))
  expect(answers).toHaveLength(120)
  expect(sizes.toSorted((a, b) => a - b)).toEqual([20, 50, 50])
  expect(one).not.toHaveBeenCalled()
})
