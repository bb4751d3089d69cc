import { describe, expect, it } from 'vitest'
import { BILLING_AND_SEARCH } from '../testing/handlers/billing-and-search.ts'
import { sentHandlers } from './sent-handlers.ts'

describe('sentHandlers', () => {
  it('is fulfilment and the configured handlers, without those that the setting or an operator has paused', () => {
    expect(sentHandlers(BILLING_AND_SEARCH, new Set())).toEqual(['fulfilment', 'billing'])
    expect(sentHandlers(BILLING_AND_SEARCH, new Set(['billing']))).toEqual(['fulfilment'])
    expect(sentHandlers(BILLING_AND_SEARCH, new Set(['fulfilment']))).toEqual(['billing'])
    expect(sentHandlers(undefined, new Set())).toEqual(['fulfilment'])
  })
})
