// What the overview shows, kept up to date for every component that shows it.

import { operator } from '../api/operator-client.ts'
import { useLive } from '../api/use-answer.ts'

// A gateway stores a minute at its end.
const MINUTES_REFRESH_MS = 15_000

export const PERIODS = { hour: 'Hour', day: 'Day', week: 'Week' }

export type Period = keyof typeof PERIODS

export const useOverview = () => useLive(['overview'], () => operator.overview.query())

/** What all gateways counted in the last hour, day or week. */
export function useMinutes(period: Period) {
  return useLive(['minutes', period], () => operator.minutes.query({ period }), MINUTES_REFRESH_MS)
}
