import { describe, expect, it } from 'vitest'
import type { WholeFigures } from '../whole/measure-whole.ts'
import { CHECKED, checkPoints } from './check-points.ts'
import { type Costs, deriveCosts } from './derive-costs.ts'
import { at } from './fit-line.ts'
import { MEASURED, type Measured } from './measured.ts'
import { SAMPLE_COSTS } from './sample-costs.ts'
import { simulate } from './simulate.ts'

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
    const derived = deriveCosts(measureAll(SAMPLE_COSTS))
    for (const name of ['gateway', 'fulfilment', 'primary', 'idlePrimary', 'look'] as const) {
      expect(derived[name].base).toBeCloseTo(SAMPLE_COSTS[name].base, 3)
      expect(derived[name].slope).toBeCloseTo(SAMPLE_COSTS[name].slope, 3)
    }
    for (const name of ['commandsPerBatch', 'idleGateway', 'idleCommands'] as const) {
      expect(derived[name]).toBeCloseTo(SAMPLE_COSTS[name], 3)
    }
  })

  it('then predict several gateways exactly', () => {
    const measured = measureAll(SAMPLE_COSTS)
    for (const figure of CHECKED)
      expect(largestError(deriveCosts(measured), measured.whole, figure)).toBeLessThan(0.001)
  })
})
