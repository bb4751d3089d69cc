import { describe, expect, it } from 'vitest'
import type { WholeFigures } from '../whole/measure-whole.ts'
import { CHECKED, checkPoints } from './check-points.ts'
import { type Costs, deriveCosts } from './derive-costs.ts'
import { at } from './fit-line.ts'
import { MEASURED, type Measured } from './measured.ts'
import { simulate } from './simulate.ts'

const COSTS: Costs = {
  gateway: { base: 80, slope: 200 },
  fulfilment: { base: 60, slope: 300 },
  primary: { base: 200, slope: 50 },
  commandsPerBatch: 5,
  insertMs: 3,
  batchMs: 5,
  idleGateway: 4_000,
  idlePrimary: { base: 8_000, slope: 300 },
  idleCommands: 1,
  look: { base: 200, slope: 2 },
}

/** What a measurement finds if everything costs exactly this much. */
function measure(costs: Costs, gateways: number, perSecond: number): WholeFigures {
  const size = { gateways, fulfilments: Math.min(gateways, 2), perSecond, workers: 1, shards: 1, primaryCores: 1 }
  const { insertGroup, callBatch, gatewayUs, fulfilmentUs, primaryUs, commandsPerEvent } = simulate(costs, size)
  return {
    ...{
      gateways,
      perSecond,
      events: 1,
      fulfilments: size.fulfilments,
      insertGroup,
      callBatch,
      gatewayUs,
      fulfilmentUs,
    },
    ...{ mongodUs: primaryUs, commands: commandsPerEvent, byName: {}, examined: 3, lostClaims: 0, duplicates: 0 },
    ...{ connections: 30, p99Ms: 10, foreignShare: 0 },
  }
}

function measureAll(costs: Costs): Measured {
  const idle = [1, 4, 8].map((processes) => ({
    processes,
    commands: processes * costs.idleCommands,
    gatewayUs: processes * costs.idleGateway,
    mongodUs: at(costs.idlePrimary, processes),
  }))
  const whole = [1, 2, 8].flatMap((gateways) => [50, 200, 1_000].map((rate) => measure(costs, gateways, rate)))
  const repeated = [8, 200].flatMap((owners) =>
    (['holders', 'owners'] as const).map((kind) => {
      return { kind, owners, keys: owners, documents: 0, mongodUs: at(costs.look, owners) / 2, medianMs: 1 }
    }),
  )
  const inFlight = { ...MEASURED.inFlight, repeated }
  return { ...MEASURED, idle, whole, inFlight }
}

/** The largest error of a figure at the points with several gateways. */
function largestError(costs: Costs, points: readonly WholeFigures[], figure: (typeof CHECKED)[number]): number {
  const several = points.filter(({ gateways }) => gateways > 1)
  return Math.max(...checkPoints(costs, several).map(({ figures }) => Math.abs(figures[figure].error)))
}

describe('the costs', () => {
  it('are found again in what they would have caused', () => {
    const derived = deriveCosts(measureAll(COSTS))
    for (const name of ['gateway', 'fulfilment', 'primary', 'idlePrimary', 'look'] as const) {
      expect(derived[name].base).toBeCloseTo(COSTS[name].base, 3)
      expect(derived[name].slope).toBeCloseTo(COSTS[name].slope, 3)
    }
    for (const name of ['commandsPerBatch', 'idleGateway', 'idleCommands'] as const) {
      expect(derived[name]).toBeCloseTo(COSTS[name], 3)
    }
  })

  it('then predict several gateways exactly', () => {
    const measured = measureAll(COSTS)
    for (const figure of CHECKED)
      expect(largestError(deriveCosts(measured), measured.whole, figure)).toBeLessThan(0.001)
  })
})
