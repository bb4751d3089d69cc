import { describe, expect, it } from 'vitest'
import { KnownAddresses } from './known-addresses.ts'
import { createRateLimit } from './rate-limit.ts'
import { Strangers } from './strangers.ts'

function strangersOf(limit: number) {
  const known = new KnownAddresses()
  const clock = { now: () => 1_000_000_000 }
  const strangers = new Strangers({ limit: createRateLimit({ name: 'asked', limit, windowSeconds: 10, clock }), known })
  return { known, strangers }
}

describe('Strangers', () => {
  it('may ask as often as the limit of their address says', () => {
    const { strangers } = strangersOf(3)
    for (let n = 0; n < 3; n += 1) expect(strangers.admit('192.0.2.1')).toBe('stranger')
    expect(() => strangers.admit('192.0.2.1')).toThrow(expect.objectContaining({ code: 'rate_limited' }))
    expect(strangers.admit('192.0.2.2')).toBe('stranger')
  })

  it('are no addresses that delivered something authentic, which may ask without end', () => {
    const { strangers, known } = strangersOf(1)
    known.add('203.0.113.1')
    for (let n = 0; n < 100; n += 1) expect(strangers.admit('203.0.113.1')).toBe('known')
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
