import { expect, it, vi } from 'vitest'
import { readEvent } from './handler-event.ts'
import { createMetrics } from './metrics.ts'
import { createProcessing, type ProcessingParts } from './process-event.ts'
import { createSlots } from './slots.ts'
import type { Store, Task, TaskResult } from './store.ts'

it('puts no events together for ten seconds after that has failed', async () => {
  let nowMs = 0
  const onceTogether = vi.fn(async (_: readonly Task<never>[]): Promise<Map<Task<never>, TaskResult>> => {
    throw new Error('The connection was lost')
  })
  const limits = { waitMs: 1_000, timeoutMs: 1_000, keepKeysDays: 100 } as ProcessingParts<never>['limits']
  const { together } = createProcessing<never>({
    ...{ store: { onceTogether } as unknown as Store<never>, handler: 'test', find: () => () => undefined, limits },
    ...{
      laterNames: new Set<string>(),
      refusesUnhandled: false,
      slots: createSlots(1, 1),
      metrics: createMetrics('test'),
    },
    ...{ log: () => undefined, now: () => nowMs, onMessages: () => undefined },
  })
  const events = ['a', 'b'].flatMap((key) => readEvent(key, Buffer.from('{"type":"invoice.paid"}')) ?? [])
  const calls: number[] = []
  for (nowMs of [0, 9_999, 10_000]) {
    expect(await together(events, 1_000)).toEqual(new Map())
    calls.push(onceTogether.mock.calls.length)
  }
  expect(calls).toEqual([1, 1, 2])
})
