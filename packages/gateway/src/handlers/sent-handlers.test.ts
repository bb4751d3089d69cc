import { describe, expect, it } from 'vitest'
import { sentHandlers } from './sent-handlers.ts'
import type { HandlerSettings } from './settings/read-handlers.ts'

const handlers = new Map(
  [
    { name: 'billing', paused: false },
    { name: 'search', paused: true },
  ].map((one) => [one.name, one as HandlerSettings]),
)

describe('sentHandlers', () => {
  it('is fulfilment and the configured handlers, without those that the setting or an operator has paused', () => {
    expect(sentHandlers(handlers, new Set())).toEqual([null, 'billing'])
    expect(sentHandlers(handlers, new Set(['billing']))).toEqual([null])
    expect(sentHandlers(handlers, new Set(['fulfilment']))).toEqual(['billing'])
    expect(sentHandlers(undefined, new Set())).toEqual([null])
  })
})
