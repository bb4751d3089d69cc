import { describe, expect, it } from 'vitest'
import { createRateLimit } from '../rate-limit.ts'
import { KnownAddresses } from './known-addresses.ts'
import { Strangers } from './strangers.ts'

function strangersOf(quota: number) {
  let time = 1_000_000_000
  const known = new KnownAddresses()
  const clock = { now: () => time }
  const limit = createRateLimit({ name: 'asked', limit: quota, windowSeconds: 10, clock })
  const strangers = new Strangers({ limit, windowSeconds: 10, atOnce: quota, clock, known })
  const ask = (address: string, ...objects: string[]) => strangers.ask({ address, objects }, async (asker) => asker)
  return { known, strangers, ask, pass: (ms: number) => (time += ms) }
}

const REFUSED = expect.objectContaining({ code: 'rate_limited' })

describe('Strangers', () => {
  it('may have a limited number of objects requested per window, for each address', async () => {
    const { ask, pass } = strangersOf(3)
    for (const object of ['a', 'b', 'c']) expect(await ask('192.0.2.1', object)).toBe('stranger')
    await expect(ask('192.0.2.1', 'd')).rejects.toThrow(REFUSED)
    expect(await ask('192.0.2.2', 'd')).toBe('stranger')
    pass(10_000)
    expect(await ask('192.0.2.1', 'd')).toBe('stranger')
  })

  it('may ask for the same object again, even if the window has no room for another one', async () => {
    const { ask, pass } = strangersOf(2)
    for (let n = 0; n < 100; n += 1) expect(await ask('192.0.2.1', 'a')).toBe('stranger')
    expect(await ask('192.0.2.1', 'b')).toBe('stranger')
    await expect(ask('192.0.2.1', 'c')).rejects.toThrow(REFUSED)
    await expect(ask('192.0.2.1', 'a', 'c')).rejects.toThrow(REFUSED)
    expect(await ask('192.0.2.1', 'a')).toBe('stranger')
    pass(10_000)
    for (const object of ['c', 'd']) expect(await ask('192.0.2.1', object)).toBe('stranger')
    await expect(ask('192.0.2.1', 'a')).rejects.toThrow(REFUSED)
  })

  it('use at most that many slots at once, even for one object', async () => {
    const { strangers, ask } = strangersOf(2)
    const { promise, resolve } = Promise.withResolvers<void>()
    const held = [1, 2].map(() => strangers.ask({ address: '192.0.2.1', objects: ['a'] }, () => promise))
    await expect(ask('192.0.2.1', 'a')).rejects.toThrow(expect.objectContaining({ code: 'overloaded' }))
    expect(await ask('192.0.2.2', 'a')).toBe('stranger')
    resolve()
    await Promise.all(held)
    expect(await ask('192.0.2.1', 'a')).toBe('stranger')
  })

  it('are no addresses that delivered something authentic, which have no limit', async () => {
    const { ask, known } = strangersOf(1)
    known.add('203.0.113.1')
    for (let n = 0; n < 100; n += 1) expect(await ask('203.0.113.1', String(n))).toBe('known')
  })
})

describe('KnownAddresses', () => {
  it('forgets those that were not seen for long, and keeps the others', () => {
    const known = new KnownAddresses()
    known.add('first')
    for (let n = 0; n < 10_000; n += 1) known.add(`198.51.${n}.1`)
    expect(known.has('first')).toBe(true)
    known.add('first')
    for (let n = 0; n < 15_000; n += 1) known.add(`203.0.${n}.1`)
    expect([known.has('first'), known.has('198.51.1.1')]).toEqual([true, false])
  })
})
