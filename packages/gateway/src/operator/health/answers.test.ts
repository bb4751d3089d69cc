import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createRequestTimer } from '../../metrics.ts'
import { createAnswerHistory, readAnswerTimes } from './answers.ts'

const ROUTE = '/api/webhooks/{provider}'

function open() {
  const registry = new Registry()
  const timer = createRequestTimer(registry)
  let now = 1_000_000
  const history = createAnswerHistory(registry, { now: () => now })
  return {
    history,
    answer(seconds: number, status = 200, route = ROUTE) {
      timer.observe({ route, status }, seconds)
    },
    async later(ms: number) {
      now += ms
      await history.sample()
    },
  }
}

it('counts accepted and refused deliveries of each span, without other requests', async () => {
  const { history, answer, later } = open()
  answer(0.2)
  await later(0)
  expect(history.points).toEqual([])
  for (let count = 0; count < 40; count += 1) answer(0.004)
  answer(0.001, 401)
  answer(0.001, 503)
  answer(3, 200, '/api/orders/{id}')
  await later(10_000)
  await later(20_000)
  expect(history.points).toEqual([
    { at: 1_010_000, seconds: 10, accepted: 40, refused: 2, p99Ms: 5 },
    { at: 1_030_000, seconds: 20, accepted: 0, refused: 0, p99Ms: null },
  ])
})

it('shows the time within which 99 % were answered, at most 10 s', async () => {
  const { history, answer, later } = open()
  await later(0)
  for (let count = 0; count < 98; count += 1) answer(0.001)
  answer(0.07)
  answer(0.3)
  await later(10_000)
  answer(60)
  await later(10_000)
  expect(history.points.map(({ p99Ms }) => p99Ms)).toEqual([100, 10_000])
})

it('keeps the last hour', async () => {
  const { history, answer, later } = open()
  for (let span = 0; span <= 400; span += 1) {
    answer(0.001)
    await later(10_000)
  }
  expect(history.points.length).toBe(360)
  expect(history.points.at(-1)?.at).toBe(1_000_000 + 401 * 10_000)
})

it('records no span if the clock was set back', async () => {
  const { history, later } = open()
  await later(0)
  await later(-5_000)
  await later(10_000)
  expect(history.points.map(({ seconds }) => seconds)).toEqual([10])
})

const line = (le: string, count: number, rest = 'route="/api/webhooks/{provider}",status="200"'): string =>
  `oncehook_request_seconds_bucket{le="${le}",${rest}} ${count}\n`

describe('readAnswerTimes', () => {
  it('answers the border within which the part was answered', () => {
    const text = line('0.005', 97) + line('0.01', 99) + line('0.025', 100) + line('+Inf', 100)
    expect(readAnswerTimes(text, 0.99)).toEqual({ count: 100, withinSeconds: 0.01 })
  })

  it('leaves out other routes and refused deliveries', () => {
    const other = line('+Inf', 5, 'route="/api/orders",status="200"')
    const refused = line('+Inf', 5, 'route="/api/webhooks/{provider}",status="401"')
    expect(readAnswerTimes(other + refused, 0.99)).toEqual({ count: 0, withinSeconds: null })
  })

  it('says that it is beyond the last border', () => {
    expect(readAnswerTimes(line('10', 1) + line('+Inf', 100), 0.99)).toEqual({ count: 100, withinSeconds: null })
  })
})
