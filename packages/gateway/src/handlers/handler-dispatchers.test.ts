import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { Claim } from '../inbox/claims/claim.ts'
import { type HandlerDispatcher, HandlerDispatchers } from './handler-dispatchers.ts'
import type { HandlerSettings, Handlers } from './settings/read-handlers.ts'

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
      ...{ admits: () => true, isUp: true },
      ...{ take: () => undefined, doubt: () => undefined, expect: () => undefined },
      held: [{ _id: new ObjectId(), requestId: own } as unknown as Claim],
      start: () => void told.push(`start ${own}`),
      stop(graceMs) {
        told.push(graceMs === undefined ? `stop ${own}` : `stop ${own} within ${graceMs}`)
        return new Promise((resolve) => stops.push(resolve))
      },
    }
  })
  const held = () => Array.from(dispatchers.held(), ({ requestId }) => requestId)
  return { dispatchers, told, stops, held }
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

  it('know what an ending dispatcher still holds, until it has ended', async () => {
    const { dispatchers, stops, held } = setUp()
    dispatchers.apply(settingsOf({ a: '1' }))
    dispatchers.apply(settingsOf({ a: '2' }))
    expect(held().toSorted()).toEqual(['a1', 'a2'])
    stops.pop()?.()
    await expect.poll(held).toEqual(['a2'])
  })

  it('stop together', async () => {
    const { dispatchers, told, stops } = setUp()
    dispatchers.apply(settingsOf({ a: '1', b: '1' }))
    const stopped = dispatchers.stop()
    expect(told).toEqual(['stop a1', 'stop b2'])
    for (const end of stops) end()
    await stopped
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
