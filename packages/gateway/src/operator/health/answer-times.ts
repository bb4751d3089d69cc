import { z } from 'zod'
import { procedure } from '../operator-trpc.ts'

const LINE = /^oncehook_request_seconds_bucket\{(?<labels>.*)\} (?<count>\d+)$/gm
const OF_WEBHOOKS = /route="\/api\/webhooks/
const ANSWERED = /status="200"/

/** The number of deliveries answered with 200, and the seconds within which the given part of them was answered. */
interface AnswerTimes {
  readonly count: number
  /** An upper bound: the border of a bucket. Null if it is beyond the last border, or there are no deliveries. */
  readonly withinSeconds: number | null
}

/** Reads the response times of deliveries from the text of `/metrics`. `part` is, for example, 0.99. */
export function readAnswerTimes(metrics: string, part: number): AnswerTimes {
  const buckets = new Map<number, number>()
  for (const { groups } of metrics.matchAll(LINE)) {
    const { labels = '', count = '0' } = groups ?? {}
    if (!OF_WEBHOOKS.test(labels) || !ANSWERED.test(labels)) continue
    const border = Number(/le="([^"]+)"/.exec(labels)?.[1]?.replace('+Inf', 'Infinity'))
    buckets.set(border, (buckets.get(border) ?? 0) + Number(count))
  }
  const count = buckets.get(Number.POSITIVE_INFINITY) ?? 0
  const enough = [...buckets].filter(([, within]) => count > 0 && within >= count * part).map(([border]) => border)
  const border = Math.min(...enough)
  return { count, withinSeconds: Number.isFinite(border) ? border : null }
}

/**
 * `answerTimes`: how many deliveries this gateway has answered with 200 since its start, and within how many seconds 99 %
 * of them. With `WORKERS` it is about all of them.
 */
export const answerTimesProcedure = procedure
  .input(z.strictObject({}).optional())
  .query(async ({ ctx }): Promise<AnswerTimes> => readAnswerTimes(await ctx.shownMetrics.metrics(), 0.99))
