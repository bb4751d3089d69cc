import { describe, expect, it } from 'vitest'
import { CHECKED, type CheckedPoint, checkPoints } from './check-points.ts'
import { deriveCosts } from './derive-costs.ts'
import { MEASURED } from './measured.ts'

// docs/scaling.md names these.
const MOST_OFF = 0.35
const MOST_OFF_ON_AVERAGE = 0.2

const several = MEASURED.whole.filter(({ gateways }) => gateways > 1)
const costs = deriveCosts(MEASURED)

function errorsOf(points: readonly CheckedPoint[], figure: (typeof CHECKED)[number]): number[] {
  return points.map(({ figures }) => Math.abs(figures[figure].error))
}

function meanOf(errors: readonly number[]): number {
  return errors.reduce((sum, error) => sum + error, 0) / errors.length
}

describe('the simulation at the measured points', () => {
  const points = checkPoints(costs, several)

  it('is checked with two, four and eight gateways at several rates', () => {
    expect(new Set(points.map(({ gateways }) => gateways))).toEqual(new Set([2, 4, 8]))
    expect(new Set(points.map(({ perSecond }) => perSecond)).size).toBeGreaterThan(1)
  })

  it.each(CHECKED)('is near the measured %s', (figure) => {
    const errors = errorsOf(points, figure)
    expect(Math.max(...errors)).toBeLessThanOrEqual(MOST_OFF)
    expect(meanOf(errors)).toBeLessThanOrEqual(MOST_OFF_ON_AVERAGE)
  })

  it.each([
    ['gatewayUs', 'gateway'],
    ['fulfilmentUs', 'fulfilment'],
    ['mongodUs', 'primary'],
  ] as const)('would not be near %s if each event cost the same in a group of any size', (figure, cost) => {
    const alone = MEASURED.whole.filter(({ gateways }) => gateways === 1).map((one) => one[figure])
    const fixed = { ...costs, [cost]: { base: meanOf(alone), slope: 0 } }
    expect(meanOf(errorsOf(checkPoints(fixed, several), figure))).toBeGreaterThan(2 * MOST_OFF_ON_AVERAGE)
  })
})
