import { useQuery } from '@tanstack/react-query'
import { texts } from '../texts/texts.ts'
import { readAnswerTimes } from './read-answer-times.ts'

const REFRESH_MS = 5_000
const MOST = 0.99

/** The time within which this gateway has answered 99 % of the deliveries, kept up to date for every component that shows it. */
export function useAnswerTimes() {
  return useQuery({
    queryKey: ['metrics'],
    queryFn: async () => {
      const response = await fetch('/metrics')
      if (!response.ok) throw new Error(texts.problem.unexpected)
      return readAnswerTimes(await response.text(), MOST)
    },
    refetchInterval: REFRESH_MS,
  })
}
