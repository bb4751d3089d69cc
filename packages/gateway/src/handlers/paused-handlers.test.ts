import { describe, expect, it } from 'vitest'
import { pausedHandlers } from './paused-handlers.ts'
import type { HandlerSettings } from './settings/read-handlers.ts'

const handlers = new Map(
  [
    { name: 'billing', paused: false },
    { name: 'search', paused: true },
  ].map((one) => [one.name, one as HandlerSettings]),
)

describe('pausedHandlers', () => {
  it('are those that an operator or the setting has paused, each once, also removed ones', () => {
    expect(pausedHandlers(handlers, new Set())).toEqual(['search'])
    expect(pausedHandlers(handlers, new Set(['removed', 'search', 'fulfilment']))).toEqual([
      'removed',
      'search',
      'fulfilment',
    ])
    expect(pausedHandlers(undefined, new Set())).toEqual([])
  })
})
