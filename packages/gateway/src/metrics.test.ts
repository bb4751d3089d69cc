import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { addHandlerStateGauges } from './metrics.ts'

async function scrape(paused: readonly string[], up: Readonly<Record<string, boolean>>): Promise<string[]> {
  const registry = new Registry()
  addHandlerStateGauges(registry, {
    names: () => ['fulfilment', 'billing'],
    readPaused: async () => paused,
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
})
