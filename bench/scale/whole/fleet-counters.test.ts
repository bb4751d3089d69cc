import { expect, it } from 'vitest'
import { sumSeries } from './fleet-counters.ts'

const METRICS = `# HELP oncehook_call_seconds Seconds
oncehook_call_seconds_count{procedure="payments.applyEvents",status="200"} 12
oncehook_call_seconds_count{procedure="payments.applyEvents",status="503"} 3
oncehook_call_seconds_count{procedure="payments.versions",status="200"} 5
oncehook_call_seconds_sum{procedure="payments.applyEvents",status="200"} 0.5
oncehook_claims_lost_total 7
`

it('sums all series that match, and no others', () => {
  expect(sumSeries(METRICS, /^oncehook_call_seconds_count\{[^}]*procedure="payments\.applyEvents"/)).toBe(15)
  expect(sumSeries(METRICS, /^oncehook_claims_lost_total/)).toBe(7)
  expect(sumSeries(METRICS, /^oncehook_none/)).toBe(0)
})
