import type { Answers } from '../api/operator-client.ts'

/** The answers to deliveries during a span that ends at `at`. */
export type AnswerPoint = Answers['answers']['points'][number]

const MINUTE_MS = 60_000

/** Groups the spans by the minute in which they end, newest first. The time is the longest of the group. */
export function toMinutes(points: readonly AnswerPoint[]): AnswerPoint[] {
  const minutes = Map.groupBy(points, ({ at }) => Math.floor(Date.parse(at) / MINUTE_MS))
  return [...minutes.values()]
    .flatMap(([first, ...more]) => (first === undefined ? [] : [more.reduce(join, first)]))
    .reverse()
}

function join(one: AnswerPoint, next: AnswerPoint): AnswerPoint {
  return {
    at: next.at,
    seconds: one.seconds + next.seconds,
    accepted: one.accepted + next.accepted,
    refused: one.refused + next.refused,
    p99Ms: one.p99Ms === null || next.p99Ms === null ? (one.p99Ms ?? next.p99Ms) : Math.max(one.p99Ms, next.p99Ms),
  }
}
