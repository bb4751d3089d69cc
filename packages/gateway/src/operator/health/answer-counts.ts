import type { Registry } from 'prom-client'

/** Answers to deliveries since the process started. */
export interface AnswerCounts {
  /** Deliveries that were answered with an error. */
  readonly refused: number
  /** Deliveries that were answered 200 within a time, the shortest first. The last one has all. */
  readonly within: readonly { readonly seconds: number; readonly count: number }[]
}

const TIMER = 'oncehook_request_seconds'
const WEBHOOKS = '/api/webhooks/'
const MOST = 0.99

/** Reads the counts from the metrics of this process. Other routes are left out. */
export async function readAnswerCounts(registry: Registry): Promise<AnswerCounts> {
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
export function since(before: AnswerCounts, now: AnswerCounts): AnswerCounts {
  const known = new Map(before.within.map(({ seconds, count }) => [seconds, count]))
  return {
    refused: now.refused - before.refused,
    within: now.within.map(({ seconds, count }) => ({ seconds, count: count - (known.get(seconds) ?? 0) })),
  }
}

/** The upper limit, in milliseconds, of the bucket within which 99 % were answered; above the highest limit, that limit. Null if nothing was answered. */
export function p99MsOf(within: AnswerCounts['within']): number | null {
  const all = within.at(-1)?.count ?? 0
  if (all === 0) return null
  const enough = within.find(({ seconds, count }) => count >= all * MOST && Number.isFinite(seconds))
  const longest = within.findLast(({ seconds }) => Number.isFinite(seconds))
  const found = enough ?? longest
  return found === undefined ? null : found.seconds * 1_000
}
