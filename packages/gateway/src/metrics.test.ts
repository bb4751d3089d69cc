import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { addHandlerStateGauges } from './metrics.ts'

async function scrape(paused: readonly string[], up: Readonly<Record<string, boolean>>): Promise<string[]> {
  const registry = new Registry()
  addHandlerStateGauges(registry, {
    names: () => ['fulfilment', 'billing'],
    refreshPaused: async () => undefined,
    paused: () => paused,
    isUp: (handler) => up[handler] ?? null,
  })
  return (await registry.metrics()).split('\n').filter((line) => /^oncehook_/.test(line))
}

describe('the gauges of the states of handlers', () => {
  it('show which are paused, also removed ones, and which answer', async () => {
    expect(await scrape(['billing', 'removed'], { billing: false })).toEqual([
      'oncehook_handler_paused{handler="fulfilment"} 0',
      'oncehook_handler_paused{handler="billing"} 1',
      'oncehook_handler_paused{handler="removed"} 1',
      'oncehook_handler_answers{handler="billing"} 0',
    ])
  })

  it('say nothing of a handler that this process does not call', async () => {
    expect(await scrape([], {})).toEqual([
      'oncehook_handler_paused{handler="fulfilment"} 0',
      'oncehook_handler_paused{handler="billing"} 0',
    ])
  })

  it('read the pauses once, however many scrapes wait for them', async () => {
    const registry = new Registry()
    const answer = Promise.withResolvers<void>()
    let reads = 0
    const refreshPaused = (): Promise<void> => {
      reads += 1
      return answer.promise
    }
    addHandlerStateGauges(registry, { names: () => ['billing'], refreshPaused, paused: () => [], isUp: () => null })
    const scrapes = Array.from({ length: 20 }, () => registry.metrics())
    answer.resolve()
    await Promise.all(scrapes)
    expect(reads).toBe(1)
  })
})
