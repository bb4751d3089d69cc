import fc from 'fast-check'
import { expect, it } from 'vitest'
import { at, fitLine } from './fit-line.ts'

const cost = fc.double({ min: 0, max: 1_000, noNaN: true })

it('a line through exact points is found', () => {
  fc.assert(
    fc.property(cost, cost, (base, slope) => {
      const line = fitLine([0, 1, 4, 9].map((x) => [x, base + slope * x]))
      expect(line.base).toBeCloseTo(base, 6)
      expect(line.slope).toBeCloseTo(slope, 6)
    }),
  )
})

it('a line has the least squared distance: no other base or slope is nearer', () => {
  const points = [
    [1, 12],
    [2, 14],
    [5, 29],
  ] as const
  const best = fitLine(points)
  const distance = (line: typeof best): number => points.reduce((sum, [x, y]) => sum + (at(line, x) - y) ** 2, 0)
  for (const [base, slope] of [
    [0.1, 0],
    [-0.1, 0],
    [0, 0.1],
    [0, -0.1],
  ] as const) {
    expect(distance({ base: best.base + base, slope: best.slope + slope })).toBeGreaterThan(distance(best))
  }
})

it.each([
  [
    'costs that fall are taken as constant',
    [
      [1, 30],
      [2, 10],
    ],
    { base: 20, slope: 0 },
  ],
  [
    'a line that would begin below zero begins at zero',
    [
      [1, 1],
      [2, 4],
    ],
    { base: 0, slope: 1.8 },
  ],
  ['a single point is a constant', [[3, 7]], { base: 7, slope: 0 }],
] as const)('%s', (_, points, line) => {
  const found = fitLine(points)
  expect(found.base).toBeCloseTo(line.base, 9)
  expect(found.slope).toBeCloseTo(line.slope, 9)
})
