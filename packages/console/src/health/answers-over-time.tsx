import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useMemo } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { PlainTable } from '../parts/plain-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import type { LinePlotProps } from './line-plot.tsx'

const REFRESH_MS = 10_000

/** A plot is loaded when it is first shown. If its file is gone, for example after an upgrade, the table is still there. */
const LinePlot = lazy(() =>
  import('./line-plot.tsx').then(
    (loaded) => ({ default: loaded.LinePlot }),
    () => ({ default: NoPlot }),
  ),
)

function NoPlot({ title }: LinePlotProps) {
  return (
    <p className="mt-2">
      {title}: {texts.health.noPlot}
    </p>
  )
}

/** The answers of this gateway process during the last hour, as plots and as a table. */
export function AnswersOverTime() {
  const { data, error } = useQuery({
    queryKey: ['answers'],
    queryFn: () => operator.answers.query(),
    refetchInterval: REFRESH_MS,
  })
  if (error !== null) return <QueryProblem error={error} />
  if (data === undefined) return <p role="status">{texts.frame.loading}</p>
  if (data.points.length === 0) return <p>{texts.health.noPoints}</p>
  return (
    <>
      <p className="text-quiet">{texts.health.scope}</p>
      <Suspense fallback={<p role="status">{texts.frame.loading}</p>}>
        <Plots points={data.points} />
      </Suspense>
      <details className="mt-2">
        <summary>{texts.health.asTable}</summary>
        <Minutes points={data.points} />
      </details>
    </>
  )
}

function Plots({ points }: { readonly points: readonly AnswerPoint[] }) {
  const { times, rates, slowest } = useMemo(() => linesOf(points), [points])
  return (
    <div className="grid gap-x-8 lg:grid-cols-2">
      <LinePlot title={texts.health.rates} times={times} lines={rates} />
      <LinePlot title={texts.health.slowest} times={times} lines={slowest} />
    </div>
  )
}

function linesOf(points: readonly AnswerPoint[]) {
  const { acceptedRate, refusedRate, p99 } = texts.health
  return {
    times: points.map(({ at }) => Date.parse(at) / 1_000),
    rates: [
      { label: acceptedRate, colour: 'text-link', values: points.map((point) => point.accepted / point.seconds) },
      { label: refusedRate, colour: 'text-bad', values: points.map((point) => point.refused / point.seconds) },
    ],
    slowest: [{ label: p99, colour: 'text-wait', values: points.map(({ p99Ms }) => p99Ms) }],
  }
}

const count = (value: number): string => texts.number(value, 1)

function Minutes({ points }: { readonly points: readonly AnswerPoint[] }) {
  const { until, acceptedRate, refusedRate, p99, byMinute } = texts.health
  return (
    <PlainTable
      caption={byMinute}
      heads={[until, acceptedRate, refusedRate, p99]}
      rows={toMinutes(points).map((minute) => ({
        key: minute.at,
        cells: [
          <Instant key="at" at={minute.at} isShortWhenNarrow />,
          count(minute.accepted / minute.seconds),
          count(minute.refused / minute.seconds),
          minute.p99Ms === null ? texts.frame.none : count(minute.p99Ms),
        ],
      }))}
    />
  )
}

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
