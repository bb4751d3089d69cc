import type { Clock } from '@oncehook/kernel/time/clock'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { procedure } from '../operator-trpc.ts'

/** The answers of this process to deliveries during a span. */
interface AnswerPoint {
  /** The end of the span, in milliseconds since 1970. */
  readonly at: number
  /** Its length. */
  readonly seconds: number
  /** Deliveries that were answered 200. */
  readonly accepted: number
  /** Deliveries that were answered with an error. */
  readonly refused: number
  /** 99 % of the accepted ones were answered within this time. 10,000 also means longer. Null if there are none. */
  readonly p99Ms: number | null
}

/** The last hour of answers to deliveries. */
export type AnswerHistory = ReturnType<typeof createAnswerHistory>

const MOST_POINTS = 360

/**
 * Creates a history in memory. It reads the metrics of this process, so an answer to a delivery costs nothing more. It
 * begins with the first sample.
 */
export function createAnswerHistory(registry: Registry, clock: Clock) {
  let points: readonly AnswerPoint[] = []
  let last: { readonly at: number; readonly counts: AnswerCounts } | null = null
  return {
    /** The oldest first. */
    get points() {
      return points
    },
    /** Ends a span: adds its point, and forgets points that are too old. */
    async sample(): Promise<void> {
      const counts = await readAnswerCounts(registry)
      const at = clock.now()
      const before = last
      last = { at, counts }
      // A clock that was set back gives no span.
      if (before === null || at <= before.at) return
      const { refused, within } = since(before.counts, counts)
      const accepted = within.at(-1)?.count ?? 0
      const seconds = (at - before.at) / 1_000
      points = [...points, { at, seconds, accepted, refused, p99Ms: p99MsOf(within) }].slice(-MOST_POINTS)
    },
  }
}

/** Answers to deliveries since the process started. */
interface AnswerCounts {
  /** Deliveries that were answered with an error. */
  readonly refused: number
  /** Deliveries that were answered 200 within a time, the shortest first. The last one has all. */
  readonly within: readonly { readonly seconds: number; readonly count: number }[]
}

const TIMER = 'oncehook_request_seconds'
const WEBHOOKS = '/api/webhooks/'
const MOST = 0.99

/** Reads the counts from the metrics of this process. Other routes are left out. */
async function readAnswerCounts(registry: Registry): Promise<AnswerCounts> {
  const timer = await registry.getSingleMetric(TIMER)?.get()
  const within = new Map<number, number>()
  let refused = 0
  for (const { labels, value } of timer?.values ?? []) {
    const { le, route, status } = labels
    if (le === undefined || !String(route).startsWith(WEBHOOKS)) continue
    const seconds = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
    if (Number(status) === 200) within.set(seconds, (within.get(seconds) ?? 0) + value)
    else if (seconds === Number.POSITIVE_INFINITY) refused += value
  }
  const sorted = [...within].toSorted(([one], [other]) => one - other)
  return { refused, within: sorted.map(([seconds, count]) => ({ seconds, count })) }
}

/** The answers between two readings. */
function since(before: AnswerCounts, now: AnswerCounts): AnswerCounts {
  const known = new Map(before.within.map(({ seconds, count }) => [seconds, count]))
  return {
    refused: now.refused - before.refused,
    within: now.within.map(({ seconds, count }) => ({ seconds, count: count - (known.get(seconds) ?? 0) })),
  }
}

/** The upper limit, in milliseconds, of the bucket within which 99 % were answered; above the highest limit, that limit. Null if nothing was answered. */
function p99MsOf(within: AnswerCounts['within']): number | null {
  const all = within.at(-1)?.count ?? 0
  if (all === 0) return null
  const enough = within.find(({ seconds, count }) => count >= all * MOST && Number.isFinite(seconds))
  const longest = within.findLast(({ seconds }) => Number.isFinite(seconds))
  const found = enough ?? longest
  return found === undefined ? null : found.seconds * 1_000
}

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
 * `answers`: the answers of this process to deliveries during the last hour, in spans of about 10 s, oldest first. They
 * are in memory only: a process that has just started has none.
 */
export const answersProcedure = procedure.input(z.strictObject({}).optional()).query(({ ctx }) => ({
  points: ctx.answers.points.map(({ at, ...point }) => ({ at: new Date(at).toISOString(), ...point })),
}))

/**
 * `answerTimes`: how many deliveries this gateway has answered with 200 since its start, and within how many seconds 99 %
 * of them. With `WORKERS` it is about all of them.
 */
export const answerTimesProcedure = procedure
  .input(z.strictObject({}).optional())
  .query(async ({ ctx }): Promise<AnswerTimes> => readAnswerTimes(await ctx.shownMetrics.metrics(), MOST))
