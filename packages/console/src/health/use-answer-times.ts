import { useQuery } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'

const REFRESH_MS = 5_000

/** The time within which this gateway has answered 99 % of the deliveries, kept up to date for every component that shows it. */
export function useAnswerTimes() {
  return useQuery({
    queryKey: ['answerTimes'],
    queryFn: () => operator.answerTimes.query(),
    refetchInterval: REFRESH_MS,
  })
}
