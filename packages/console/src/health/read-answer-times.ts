const LINE = /^oncehook_request_seconds_bucket\{(?<labels>.*)\} (?<count>\d+)$/gm
const WEBHOOKS = /route="\/api\/webhooks/
const ANSWERED = /status="200"/

/** How many deliveries were answered with 200, and within how many seconds the given part of them was. */
export interface AnswerTimes {
  readonly count: number
  /** An upper bound: the border of a bucket. Null if it is beyond the last border, or there are no deliveries. */
  readonly withinSeconds: number | null
}

/** Reads the times of answers to deliveries from the text of `/metrics`. `part`: for example 0.99. */
export function readAnswerTimes(metrics: string, part: number): AnswerTimes {
  const buckets = new Map<number, number>()
  for (const { groups } of metrics.matchAll(LINE)) {
    const { labels = '', count = '0' } = groups ?? {}
    if (!WEBHOOKS.test(labels) || !ANSWERED.test(labels)) continue
    const border = Number(/le="([^"]+)"/.exec(labels)?.[1]?.replace('+Inf', 'Infinity'))
    buckets.set(border, (buckets.get(border) ?? 0) + Number(count))
  }
  const count = buckets.get(Number.POSITIVE_INFINITY) ?? 0
  const enough = [...buckets].filter(([, within]) => count > 0 && within >= count * part).map(([border]) => border)
  const border = Math.min(...enough)
  return { count, withinSeconds: Number.isFinite(border) ? border : null }
}
