import { describe, expect, it } from 'vitest'
import { MOST_PARTS, partOf, slotOf } from './part.ts'

describe('the part of a process', () => {
  it('is none while it is alone, and also before it has said that it is alive', () => {
    expect(partOf('a', ['a'])).toBeNull()
    expect(partOf('a', [])).toBeNull()
  })

  it('is another for each process, whatever the order in which the database names them', () => {
    const names = ['d', 'a', 'c', 'b', 'e']
    const parts = names.map((owner) => partOf(owner, names.toReversed()))
    expect(parts.map((part) => part?.parts)).toEqual([5, 5, 5, 5, 5])
    expect(parts.map((part) => part?.remainder).toSorted()).toEqual([0, 1, 2, 3, 4])
  })

  it('is shared if there are many processes, in equal numbers', () => {
    const names = Array.from({ length: 3 * MOST_PARTS }, (_, index) => `process-${index}`)
    const byPart = Map.groupBy(names, (owner) => partOf(owner, names)?.remainder)
    expect(byPart.size).toBe(MOST_PARTS)
    for (const sharing of byPart.values()) expect(sharing).toHaveLength(3)
  })
})

describe('the slots', () => {
  it('of ids that come in order fall evenly into the parts', () => {
    const counts = new Map<number, number>()
    for (let index = 0; index < 32_000; index += 1) {
      const slot = slotOf({ provider: 'acme', eventId: `evt_${String(index).padStart(9, '0')}` })
      expect(slot).toBeLessThan(4_096)
      counts.set(slot % MOST_PARTS, (counts.get(slot % MOST_PARTS) ?? 0) + 1)
    }
    // 2,000 are expected in each part, give or take 43: the keys are fixed, so this never varies.
    expect(counts.size).toBe(MOST_PARTS)
    expect(Math.min(...counts.values())).toBeGreaterThan(1_800)
    expect(Math.max(...counts.values())).toBeLessThan(2_200)
  })
})
