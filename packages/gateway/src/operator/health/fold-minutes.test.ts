import { expect, it } from 'vitest'
import { foldMinutes, type Minute, percentileOf } from './fold-minutes.ts'

const FROM = Date.UTC(2026, 5, 15, 12)
const MINUTE_MS = 60_000

/** A minute that begins this many minutes after `FROM`. */
const minute = (after: number, counts: Partial<Minute>): Minute => ({
  ...{ _id: new Date(FROM + after * MINUTE_MS), received: 0, ...counts },
})

it.each<[what: string, buckets: Record<string, number>, part: number, expected: number | null]>([
  ['of nothing', {}, 0.99, null],
  ['of one delivery', { 4: 1 }, 0.5, 4],
  ['the half of two buckets', { 0: 50, 2: 50 }, 0.5, 0],
  ['more than the half of them', { 0: 50, 2: 50 }, 0.51, 2],
  ['99 of 100', { 10: 1, 1: 99 }, 0.99, 1],
  ['98 of 100, the others later than the last border', { 11: 2, 1: 98 }, 0.99, 11],
])('the percentile %s', (_, buckets, part, expected) => {
  expect(percentileOf(buckets, part)).toBe(expected)
})

it('adds up the minutes of each step, and leaves a gap where nothing was recorded', async () => {
  const minutes = [
    minute(0, { received: 2, refused: { rate_limited: 1 }, answered: { 0: 98 }, waiting: [1, 0, 0, 0] }),
    minute(9, {
      received: 3,
      refused: { rate_limited: 1, invalid_body: 4 },
      answered: { 5: 2 },
      waiting: [2, 0, 1, 0],
    }),
    minute(20, { failed: { order_unknown: 2 }, waiting: [0, 0, 0, 0] }),
  ]
  expect(await foldMinutes(minutes, { from: FROM, stepMs: 10 * MINUTE_MS, steps: 3 })).toMatchObject({
    ...{ received: [5, null, 0], refused: [6, null, 0] },
    refusedBecause: [
      { reason: 'invalid_body', count: 4 },
      { reason: 'rate_limited', count: 2 },
    ],
    ...{ p50: [0, null, null], p99: [5, null, null] },
    waiting: [[2, 0, 1, 0], null, [0, 0, 0, 0]],
    failed: [{ reason: 'order_unknown', counts: [0, 0, 2] }],
  })
})

it('names the five most frequent reasons, and adds up the others with those that have no name', async () => {
  const failed = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`reason_${index}`, 8 - index]))
  const folded = await foldMinutes([minute(0, { failed: { ...failed, others: 3 } })], {
    from: FROM,
    stepMs: MINUTE_MS,
    steps: 1,
  })
  expect(folded.failed.map(({ reason, counts }) => [reason, ...counts])).toEqual([
    ...['0', '1', '2', '3', '4'].map((name) => [`reason_${name}`, 8 - Number(name)]),
    ['others', 9],
  ])
})

it('counts reasons that handlers have named like members of an object', async () => {
  const failed = JSON.parse('{ "__proto__": 2, "constructor": 1 }')
  const minutes = [minute(0, { failed }), minute(1, { failed: { constructor: 3 } })]
  const { failed: folded } = await foldMinutes(minutes, { from: FROM, stepMs: MINUTE_MS, steps: 3 })
  expect(folded).toEqual([
    { reason: 'constructor', counts: [1, 3, 0] },
    { reason: '__proto__', counts: [2, 0, 0] },
  ])
})

it('lets other work run after each step, however many reasons handlers have named', async () => {
  let turns = 0
  const count = (): void => {
    turns += 1
    waiting = setImmediate(count)
  }
  let waiting = setImmediate(count)
  await foldMinutes([], { from: FROM, stepMs: MINUTE_MS, steps: 168 })
  clearImmediate(waiting)
  expect(turns).toBeGreaterThanOrEqual(168)
})
