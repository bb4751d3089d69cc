import { z } from 'zod'
import { procedure } from '../operator-trpc.ts'

const LINE = /^oncehook_request_seconds_bucket\{(?<labels>.*)\} (?<count>\d+)$/gm
const OF_WEBHOOKS = /route="\/api\/webhooks/
const ANSWERED = /status="200"/

/**
 * Reads from the text of `/metrics` the number of deliveries answered with 200, and the seconds within which the given part of
 * them, for example 0.99, was answered. They are an upper bound, the border of a bucket; null beyond the last border, or without
 * deliveries.
 */
export function readAnswerTimes(metrics: string, part: number) {
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
  .query(async ({ ctx }) => readAnswerTimes(await ctx.shownMetrics.metrics(), 0.99))
