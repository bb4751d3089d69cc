import type { LookupAddress } from 'node:dns'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type Lookup, shareLookup } from './share-lookup.ts'

const FOUND = [{ address: '93.184.216.34', family: 4 }]

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A shared lookup, and what the lookups that it has begun wait for. */
function setUp() {
  const begun: PromiseWithResolvers<LookupAddress[]>[] = []
  const lookup = shareLookup((() => {
    const one = Promise.withResolvers<LookupAddress[]>()
    begun.push(one)
    return one.promise
  }) satisfies Lookup)
  return { begun, ask: (name = 'shop.example') => lookup(name, { all: true }) }
}

it('lets all who ask meanwhile share one lookup, and looks up again after it', async () => {
  const { begun, ask } = setUp()
  const asked = Promise.all(Array.from({ length: 8 }, () => ask()))
  begun[0]?.resolve(FOUND)
  expect(new Set(await asked)).toEqual(new Set([FOUND]))
  expect(begun).toHaveLength(1)
  void ask()
  expect(begun).toHaveLength(2)
})

it('shares none of another name', () => {
  const { begun, ask } = setUp()
  for (const name of ['a.example', 'b.example', 'a.example']) void ask(name)
  expect(begun).toHaveLength(2)
})

it('keeps a failure for a second', async () => {
  const { begun, ask } = setUp()
  const first = ask()
  begun[0]?.reject(new Error('EAI_AGAIN'))
  await expect(first).rejects.toThrow('EAI_AGAIN')
  await vi.advanceTimersByTimeAsync(900)
  await expect(ask()).rejects.toThrow('EAI_AGAIN')
  await vi.advanceTimersByTimeAsync(200)
  void ask()
  expect(begun).toHaveLength(2)
})

it('fails if a lookup hangs, and begins no other beside it', async () => {
  const { begun, ask } = setUp()
  const hung = expect(ask()).rejects.toMatchObject({ code: 'ELOOKUPTIMEOUT' })
  await vi.advanceTimersByTimeAsync(8_000)
  await hung
  await expect(ask()).rejects.toMatchObject({ code: 'ELOOKUPTIMEOUT' })
  expect(begun).toHaveLength(1)
  begun[0]?.resolve(FOUND)
  await vi.advanceTimersByTimeAsync(0)
  void ask()
  expect(begun).toHaveLength(2)
})
