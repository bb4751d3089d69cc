import { describe, expect, it } from 'vitest'
import { BILLING_AND_SEARCH } from '../testing/handlers/billing-and-search.ts'
import { type HandlerDispatcher, HandlerDispatchers, pausedHandlers, sentHandlers } from './handler-dispatchers.ts'
import type { HandlerSettings, Handlers } from './handler-settings.ts'

function settingsOf(fingerprints: Readonly<Record<string, string>>): Handlers {
  return new Map(
    Object.entries(fingerprints).map(([name, fingerprint]) => [
      name,
      { name, fingerprint, timeoutMs: 5_000, batch: 2 } as HandlerSettings,
    ]),
  )
}

/** Dispatchers that only record what happens to them. A stop ends when the test says so. */
function setUp() {
  const told: string[] = []
  const stops: (() => void)[] = []
  let made = 0
  const dispatchers = new HandlerDispatchers(({ name }): HandlerDispatcher => {
    made += 1
    const own = `${name}${made}`
    return {
      ...{ handler: name, admits: () => true, lastsMs: 30_000, isUp: true, mayTrySuspects: () => true },
      ...{ take: () => undefined, miss: () => undefined, expect: () => undefined, trySuspects: async () => false },
      start: () => void told.push(`start ${own}`),
      stop(graceMs) {
        told.push(graceMs === undefined ? `stop ${own}` : `stop ${own} within ${graceMs}`)
        return new Promise((resolve) => stops.push(resolve))
      },
    }
  })
  return { dispatchers, told, stops }
}

describe('HandlerDispatchers', () => {
  it('follow the settings: dispatchers without a change continue', async () => {
    const { dispatchers, told } = setUp()
    dispatchers.apply(settingsOf({ a: '1', b: '1' }))
    expect(told).toEqual([])
    dispatchers.start()
    expect(told.splice(0)).toEqual(['start a1', 'start b2'])
    dispatchers.apply(settingsOf({ a: '1', b: '2', c: '1' }))
    expect(told.splice(0)).toEqual(['stop b2 within 30000', 'start b3', 'start c4'])
    dispatchers.apply(settingsOf({ b: '2' }))
    expect(told).toEqual(['stop a1 within 30000', 'stop c4 within 30000'])
    expect(dispatchers.takerOf('a')).toBeUndefined()
    expect(dispatchers.takerOf('b')).toBeDefined()
  })

  it('stop soon, those of earlier settings too, whose calls may still be open', async () => {
    const { dispatchers, told, stops } = setUp()
    dispatchers.apply(settingsOf({ a: '1' }))
    dispatchers.apply(settingsOf({ a: '2' }))
    const stopped = dispatchers.stop()
    expect(told).toEqual(['stop a1 within 30000', 'stop a1', 'stop a2'])
    for (const end of stops.slice(1)) end()
    await stopped
    expect(dispatchers.takerOf('a')).toBeUndefined()
  })
})

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

describe('sentHandlers', () => {
  it('is fulfilment and the configured handlers, without those that the setting or an operator has paused', () => {
    expect(sentHandlers(BILLING_AND_SEARCH, new Set())).toEqual(['fulfilment', 'billing'])
    expect(sentHandlers(BILLING_AND_SEARCH, new Set(['billing']))).toEqual(['fulfilment'])
    expect(sentHandlers(BILLING_AND_SEARCH, new Set(['fulfilment']))).toEqual(['billing'])
    expect(sentHandlers(undefined, new Set())).toEqual(['fulfilment'])
  })
})
