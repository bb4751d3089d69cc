// What the overview shows, kept up to date for every component that shows it.

import { useQuery } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'

const REFRESH_MS = 5_000
// A gateway stores a minute at its end.
const MINUTES_REFRESH_MS = 15_000

export const PERIODS = ['hour', 'day', 'week'] as const

export type Period = (typeof PERIODS)[number]

export function useOverview() {
  return useQuery({ queryKey: ['overview'], queryFn: () => operator.overview.query(), refetchInterval: REFRESH_MS })
}

/** What all gateways counted in the last hour, day or week. */
export function useMinutes(period: Period) {
  return useQuery({
    queryKey: ['minutes', period],
    queryFn: () => operator.minutes.query({ period }),
    refetchInterval: MINUTES_REFRESH_MS,
  })
}
