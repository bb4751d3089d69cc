import { describe, expect, it } from 'vitest'
import { BILLING_AND_SEARCH } from '../testing/handlers/billing-and-search.ts'
import { pausedHandlers } from './paused-handlers.ts'

describe('pausedHandlers', () => {
  it('are those that an operator or the setting has paused, each once, also removed ones', () => {
    expect(pausedHandlers(BILLING_AND_SEARCH, new Set())).toEqual(['search'])
    expect(pausedHandlers(BILLING_AND_SEARCH, new Set(['removed', 'search', 'fulfilment']))).toEqual([
      'removed',
      'search',
      'fulfilment',
    ])
    expect(pausedHandlers(undefined, new Set())).toEqual([])
  })
})
