import type { LookupAddress } from 'node:dns'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type Lookup, shareLookup } from './share-lookup.ts'

const FOUND = [{ address: '93.184.216.34', family: 4 }]

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A shared lookup, and what the lookups that it has begun wait for. */
function setUp() {
  const names: string[] = []
  const begun: PromiseWithResolvers<LookupAddress[]>[] = []
  const lookup = shareLookup(((name) => {
    names.push(name)
    const one = Promise.withResolvers<LookupAddress[]>()
    begun.push(one)
    return one.promise
  }) satisfies Lookup)
  return { names, begun, ask: (name = 'shop.example') => lookup(name, { all: true }) }
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

it('looks up one name at a time, so that a name server that hangs takes one thread only', async () => {
  const { names, begun, ask } = setUp()
  for (const name of ['a.example', 'b.example', 'c.example', 'a.example']) ask(name).catch(() => undefined)
  await vi.advanceTimersByTimeAsync(100)
  expect(names).toEqual(['a.example'])
  begun[0]?.resolve(FOUND)
  await vi.advanceTimersByTimeAsync(0)
  expect(names).toEqual(['a.example', 'b.example'])
  begun[1]?.reject(new Error('EAI_AGAIN'))
  await vi.advanceTimersByTimeAsync(0)
  expect(names).toEqual(['a.example', 'b.example', 'c.example'])
})

it('gives up after eight seconds behind a lookup that hangs, and looks the name up after it', async () => {
  const { names, begun, ask } = setUp()
  ask('hangs.example').catch(() => undefined)
  await vi.advanceTimersByTimeAsync(5_000)
  const gaveUp = expect(ask('b.example')).rejects.toMatchObject({ code: 'ELOOKUPTIMEOUT' })
  await vi.advanceTimersByTimeAsync(7_900)
  const later = ask('b.example')
  await vi.advanceTimersByTimeAsync(100)
  await gaveUp
  begun[0]?.reject(new Error('EAI_AGAIN'))
  await vi.advanceTimersByTimeAsync(0)
  begun[1]?.resolve(FOUND)
  expect(await later).toEqual(FOUND)
  expect(names).toEqual(['hangs.example', 'b.example'])
})

/** Looks names up that are then known. */
async function setUpKnown(...known: readonly string[]) {
  const system = setUp()
  for (const name of known) {
    const asked = system.ask(name)
    system.begun.at(-1)?.resolve(FOUND)
    await asked
  }
  return system
}

it.each([
  ['the lookup of another name hangs', 'hangs.example'],
  ['the lookup of the name hangs', 'shop.example'],
])('uses the last addresses for five minutes while %s', async (_, hangs) => {
  const { names, ask } = await setUpKnown('shop.example')
  ask(hangs).catch(() => undefined)
  const asked = ask()
  await vi.advanceTimersByTimeAsync(250)
  expect(await asked).toBe(FOUND)
  const soon = ask()
  await vi.advanceTimersByTimeAsync(1)
  expect(await soon).toBe(FOUND)
  await vi.advanceTimersByTimeAsync(299_750)
  const old = expect(ask()).rejects.toMatchObject({ code: 'ELOOKUPTIMEOUT' })
  await vi.advanceTimersByTimeAsync(8_000)
  await old
  expect(names).toEqual(['shop.example', hangs])
})

it('uses new addresses if they are found soon', async () => {
  const { begun, ask } = await setUpKnown('shop.example')
  const asked = ask()
  const moved = [{ address: '93.184.216.35', family: 4 }]
  await vi.advanceTimersByTimeAsync(200)
  begun[1]?.resolve(moved)
  expect(await asked).toBe(moved)
})

it.each([
  ['uses the last addresses of a name whose lookup fails', 'EAI_AGAIN', false],
  ['forgets the addresses of a name that does not exist any more', 'ENOTFOUND', true],
])('%s', async (_, code, isForgotten) => {
  const { begun, ask } = await setUpKnown('shop.example')
  const asked = Promise.allSettled([ask(), ask()])
  begun[1]?.reject(Object.assign(new Error(code), { code }))
  const found = (await asked).map((one) => (one.status === 'fulfilled' ? one.value : one.reason.code))
  expect(found).toEqual(isForgotten ? [code, code] : [FOUND, FOUND])
  const again = await ask().catch((error: unknown) => error)
  expect(again).toMatchObject(isForgotten ? { code } : FOUND)
})

it('looks up a name that hung the last time after all others', async () => {
  const { names, begun, ask } = setUp()
  const askAll = (...all: readonly string[]) => {
    for (const name of all) ask(name).catch(() => undefined)
  }
  askAll('hangs.example', 'a.example')
  await vi.advanceTimersByTimeAsync(5_000)
  begun[0]?.reject(new Error('EAI_AGAIN'))
  await vi.advanceTimersByTimeAsync(1_001)
  askAll('hangs.example', 'b.example', 'c.example')
  for (const index of [1, 2, 3]) {
    begun[index]?.resolve(FOUND)
    await vi.advanceTimersByTimeAsync(0)
  }
  expect(names).toEqual(['hangs.example', 'a.example', 'b.example', 'c.example', 'hangs.example'])
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

it('looks up other names after a lookup that could not even begin', async () => {
  const lookup = shareLookup((name) => {
    if (name === 'bad') throw new TypeError('The name is invalid')
    return Promise.resolve(FOUND)
  })
  await expect(lookup('bad', { all: true })).rejects.toThrow('The name is invalid')
  expect(await lookup('good.example', { all: true })).toBe(FOUND)
})
