import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SLOTS, slotOf } from './slot.ts'

const key = fc.record({
  provider: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,62}$/),
  eventId: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 }),
})

describe('the slot of a record', () => {
  it('is the first 12 bits of the SHA-256 of its key, whatever the key', () => {
    fc.assert(
      fc.property(key, (one) => {
        const digest = createHash('sha256').update(`${one.provider}\n${one.eventId}`, 'utf8').digest()
        expect(slotOf(one)).toBe(digest.readUInt16BE(0) >> 4)
      }),
    )
  })

  it('is the same in every release', () => {
    expect(slotOf({ provider: 'stripe', eventId: 'evt_1' })).toBe(slotOf({ eventId: 'evt_1', provider: 'stripe' }))
    expect([
      slotOf({ provider: 'stripe', eventId: 'evt_1' }),
      slotOf({ provider: 'acme', eventId: 'é' }),
      slotOf({ provider: 'acm', eventId: 'eé' }),
    ]).toEqual([3390, 1563, 3638])
  })

  it('spreads ids that come in order evenly', () => {
    const counts = new Map<number, number>()
    const eventIds = Array.from({ length: 8 * SLOTS }, (_, index) => `evt_${String(index).padStart(9, '0')}`)
    for (const eventId of eventIds) {
      const range = slotOf({ provider: 'acme', eventId }) >> 6
      counts.set(range, (counts.get(range) ?? 0) + 1)
    }
    expect(counts.size).toBe(64)
    // 512 are expected in each of the 64 ranges, give or take 23: the keys are fixed, so this never varies.
    expect(Math.min(...counts.values())).toBeGreaterThan(400)
    expect(Math.max(...counts.values())).toBeLessThan(624)
  })
})
