import { describe, expect, it } from 'vitest'
import { MOST_PARTS, partOf } from './part.ts'

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
