import { describe, expect, it } from 'vitest'
import { readAnswerTimes } from './answer-times.ts'

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
