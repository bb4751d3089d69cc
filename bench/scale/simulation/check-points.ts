import type { WholeFigures } from '../whole/measure-whole.ts'
import type { Costs } from './derive-costs.ts'
import { simulateGroups } from './simulate.ts'

/** The figures that are compared. */
export const CHECKED = ['commands', 'gatewayUs', 'fulfilmentUs', 'mongodUs'] as const

/** One figure of a measured point, and what the simulation says. */
interface CheckedFigure {
  readonly measured: number
  readonly simulated: number
  /** How far the simulation is from the measurement: 0.1 is 10 % above it. */
  readonly error: number
}

/** A measured point with its compared figures. */
export interface CheckedPoint {
  readonly gateways: number
  readonly perSecond: number
  readonly figures: Readonly<Record<(typeof CHECKED)[number], CheckedFigure>>
}

/**
 * Compares the simulation with measured points. Each point brings its sizes of groups and batches: on a busy machine, how
 * long events collect depends on the other programs.
 */
export function checkPoints(costs: Costs, points: readonly WholeFigures[]): CheckedPoint[] {
  return points.map((point) => {
    const { gateways, fulfilments, perSecond } = point
    const size = { gateways, fulfilments, perSecond, workers: 1, shards: 1, primaryCores: 1 }
    const { commandsPerEvent, primaryUs, gatewayUs, fulfilmentUs } = simulateGroups(costs, size, point)
    const figures = {
      commands: compare(point.commands, commandsPerEvent),
      gatewayUs: compare(point.gatewayUs, gatewayUs),
      fulfilmentUs: compare(point.fulfilmentUs, fulfilmentUs),
      mongodUs: compare(point.mongodUs, primaryUs),
    }
    return { gateways, perSecond, figures }
  })
}

function compare(measured: number, simulated: number): CheckedFigure {
  return { measured, simulated, error: simulated / measured - 1 }
}
