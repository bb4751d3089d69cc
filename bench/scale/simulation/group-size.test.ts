import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { groupSize, shardsReached } from './group-size.ts'

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Lets events arrive at random, one per unit of time, at a group commit whose commands take `duration`. */
function simulateGroups(duration: number, events: number): number {
  const random = randomOf(7)
  const arrivals: number[] = []
  for (let time = 0; arrivals.length < events; arrivals.push(time)) time -= Math.log(1 - random())
  let [groups, freeAt, next] = [0, 0, 0]
  while (next < arrivals.length) {
    const startsAt = Math.max(freeAt, arrivals[next] ?? 0)
    while (next < arrivals.length && (arrivals[next] ?? 0) <= startsAt) next += 1
    groups += 1
    freeAt = startsAt + duration
  }
  return events / groups
}

/** Throws records at shards at random, and counts the shards that got one. */
function simulateShards({ size, shards }: { readonly size: number; readonly shards: number }): number {
  const random = randomOf(11)
  const rounds = 2_000
  let reached = 0
  for (let round = 0; round < rounds; round += 1) {
    reached += new Set(Array.from({ length: size }, () => Math.floor(random() * shards))).size
  }
  return reached / rounds
}

describe('the size of a group', () => {
  it.each([0.05, 0.3, 1, 3, 20])('is what a group commit makes of random arrivals, %f during a command', (arrivals) => {
    expect(groupSize(arrivals) / simulateGroups(arrivals, 100_000)).toBeCloseTo(1, 1.5)
  })

  it('is one if nothing arrives during a command', () => {
    expect(groupSize(0)).toBe(1)
  })
})

describe('the shards that a command reaches', () => {
  it.each([
    { size: 1, shards: 32 },
    { size: 4, shards: 4 },
    { size: 60, shards: 16 },
    { size: 500, shards: 32 },
  ])('are as many as $size records on $shards shards reach', (given) => {
    expect(shardsReached(given.size, given.shards) / simulateShards(given)).toBeCloseTo(1, 1.5)
  })

  it('are never more than the records or the shards', () => {
    const size = fc.double({ min: 1, max: 500, noNaN: true })
    fc.assert(
      fc.property(size, fc.integer({ min: 1, max: 64 }), (records, shards) => {
        const reached = shardsReached(records, shards)
        expect(reached).toBeGreaterThanOrEqual(1 - 1e-9)
        expect(reached).toBeLessThanOrEqual(Math.min(records, shards) + 1e-9)
      }),
    )
  })
})
