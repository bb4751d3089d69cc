import { expect, it } from 'vitest'
import { type AnswerPoint, toMinutes } from './answers-over-time.tsx'

const point = (time: string, accepted: number, p99Ms: number | null): AnswerPoint => ({
  ...{ at: `2026-06-01T${time}.000Z`, seconds: 10, accepted, refused: 1, p99Ms },
})

it('puts spans together by the minute in which they end, the newest first', () => {
  const points = [
    point('09:59:58', 5, 10),
    point('10:00:08', 0, null),
    point('10:00:18', 7, 25),
    point('10:00:28', 1, 5),
  ]
  expect(toMinutes(points)).toEqual([
    { at: '2026-06-01T10:00:28.000Z', seconds: 30, accepted: 8, refused: 3, p99Ms: 25 },
    points[0],
  ])
})

it('has no time for a minute without accepted deliveries', () => {
  expect(toMinutes([point('10:00:08', 0, null), point('10:00:18', 0, null)])[0]?.p99Ms).toBeNull()
  expect(toMinutes([])).toEqual([])
})
