import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { groupSize } from './group-size.ts'
import { highestRate } from './highest-rate.ts'
import { SAMPLE_COSTS } from './sample-costs.ts'
import { type SystemSize, simulate, simulateGroups } from './simulate.ts'

const sizes: fc.Arbitrary<SystemSize> = fc.record({
  gateways: fc.integer({ min: 1, max: 200 }),
  workers: fc.integer({ min: 1, max: 8 }),
  fulfilments: fc.integer({ min: 1, max: 200 }),
  shards: fc.integer({ min: 1, max: 32 }),
  primaryCores: fc.integer({ min: 1, max: 64 }),
  perSecond: fc.integer({ min: 1, max: 100_000 }),
})

/** Checks a claim about two systems that differ in one thing. */
function always(claim: (size: SystemSize) => void): void {
  fc.assert(fc.property(sizes, claim))
}

const ROUNDING = 1 + 1e-6
const MOST_BUSY = 0.7
const PARTS = ['gateways', 'fulfilment', 'primaries'] as const

describe('the simulation', () => {
  it('computes one gateway that gets single events by hand', () => {
    const size = { gateways: 1, workers: 1, fulfilments: 1, shards: 1, primaryCores: 1, perSecond: 100 }
    const { use, busiest, ...rest } = simulate({ ...SAMPLE_COSTS, insertMs: 0, batchMs: 0 }, size)
    const primaryUs = 200 + 6 * 50 + (8_000 + 300 + 0.2 * 202) / 100
    expect(rest).toEqual({
      ...{ insertGroup: 1, callBatch: 1, commandsPerEvent: 6, gatewayUs: 520, fulfilmentUs: 360, primaryUs },
      ...{ connections: 40, commandsPerPrimary: 601, idlePerPrimary: 1 },
    })
    expect(use.gateways).toBeCloseTo(0.052, 9)
    expect(use.fulfilment).toBeCloseTo(0.036, 9)
    expect(use.primaries).toBeCloseTo(primaryUs / 10_000, 9)
    expect(busiest).toBe('primaries')
  })

  it('makes the busiest part busier with a higher rate', () => {
    always((size) => {
      const [less, more] = [
        simulate(SAMPLE_COSTS, size),
        simulate(SAMPLE_COSTS, { ...size, perSecond: size.perSecond * 1.5 }),
      ]
      expect(more.use[more.busiest] * ROUNDING).toBeGreaterThanOrEqual(less.use[less.busiest])
    })
  })

  it('finds groups that agree with how busy the system is', () => {
    always((size) => {
      const { use, busiest, insertGroup } = simulate(SAMPLE_COSTS, size)
      fc.pre(use[busiest] < 1)
      const arrivals =
        ((size.perSecond / size.gateways / size.workers) * SAMPLE_COSTS.insertMs) / 1_000 / (1 - use[busiest])
      expect(insertGroup / Math.min(500, groupSize(arrivals))).toBeCloseTo(1, 3)
    })
  })

  it('fills groups before it calls a system too busy', () => {
    always((size) => {
      const { use, busiest, insertGroup, callBatch } = simulate(SAMPLE_COSTS, size)
      fc.pre(use[busiest] > 1.001)
      expect([insertGroup, callBatch]).toEqual([500, 500])
    })
  })

  it('makes groups smaller and events dearer if the same rate is spread over more gateways with much room', () => {
    const size = { gateways: 2, workers: 1, fulfilments: 4, shards: 1, primaryCores: 64, perSecond: 2_000 }
    const systems = [2, 4, 8, 16].map((gateways) => simulate(SAMPLE_COSTS, { ...size, gateways }))
    const isFalling = (figures: readonly number[]): boolean =>
      figures.every((figure, index) => index === 0 || figure < (figures[index - 1] ?? 0))
    expect(isFalling(systems.map(({ insertGroup }) => insertGroup))).toBe(true)
    expect(isFalling(systems.map(({ callBatch }) => callBatch))).toBe(true)
    expect(isFalling(systems.map(({ primaryUs }) => -primaryUs))).toBe(true)
  })

  it('reckons with ten gateways and ten times the rate as with one, besides the looks for dead processes', () => {
    always((size) => {
      const { gateways, fulfilments, primaryCores, perSecond } = size
      const ten = {
        ...{ ...size, gateways: gateways * 10, perSecond: perSecond * 10 },
        ...{ fulfilments: fulfilments * 10, primaryCores: primaryCores * 10 },
      }
      const blind = { ...SAMPLE_COSTS, look: { base: 0, slope: 0 }, idlePrimary: { base: 0, slope: 300 } }
      const [one, all] = [simulate(blind, size), simulate(blind, ten)]
      expect(all.insertGroup / one.insertGroup).toBeCloseTo(1, 4)
      for (const part of PARTS) expect(all.use[part] / one.use[part]).toBeCloseTo(1, 4)
      expect(all.idlePerPrimary).toBeCloseTo(one.idlePerPrimary * 10, 6)
    })
  })

  it('counts a worker as a gateway', () => {
    always((size) => {
      const apart = { ...size, gateways: size.gateways * size.workers, workers: 1 }
      expect(simulate(SAMPLE_COSTS, size)).toEqual(simulate(SAMPLE_COSTS, apart))
    })
  })

  it('splits commands over shards, so each event costs more, but each primary has less to do for events', () => {
    always((size) => {
      const groups = simulate(SAMPLE_COSTS, size)
      const unsharded = simulateGroups(SAMPLE_COSTS, { ...size, shards: 1 }, groups)
      const sharded = simulateGroups(SAMPLE_COSTS, size, groups)
      expect(sharded.commandsPerEvent * ROUNDING).toBeGreaterThanOrEqual(unsharded.commandsPerEvent)
      const ofEvents = ({ commandsPerPrimary, idlePerPrimary }: typeof sharded) => commandsPerPrimary - idlePerPrimary
      expect(ofEvents(sharded)).toBeLessThanOrEqual(ofEvents(unsharded) * ROUNDING)
    })
  })
})

describe('the highest rate', () => {
  it('is where the busiest part reaches its limit', () => {
    always(({ perSecond: _, ...size }) => {
      const perSecond = highestRate(SAMPLE_COSTS, size, MOST_BUSY)
      fc.pre(perSecond > 10)
      const below = simulate(SAMPLE_COSTS, { ...size, perSecond })
      const above = simulate(SAMPLE_COSTS, { ...size, perSecond: perSecond * 1.001 + 2 })
      expect(below.use[below.busiest]).toBeLessThanOrEqual(MOST_BUSY * ROUNDING)
      expect(above.use[above.busiest]).toBeGreaterThan(MOST_BUSY)
    })
  })

  it('is 0 if idle processes alone are too much', () => {
    const idle = { ...SAMPLE_COSTS, idlePrimary: { base: 0, slope: 10_000 } }
    const size = { gateways: 200, workers: 1, fulfilments: 1, shards: 1, primaryCores: 1 }
    expect(highestRate(idle, size, MOST_BUSY)).toBe(0)
  })
})
