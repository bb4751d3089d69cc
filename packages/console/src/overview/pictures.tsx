import type { Answers } from '../api/operator-client.ts'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'
import { Plot, type Series } from './plot.tsx'
import { type Period, useMinutes } from './use-overview.ts'

type Minutes = Answers['minutes']

/** The four pictures. They are loaded after the page. */
export function Pictures({ period }: { readonly period: Period }) {
  const { data, error, refetch } = useMinutes(period)
  if (error !== null && data === undefined) return <QueryProblem error={error} retry={() => void refetch()} />
  if (data === undefined) return <p role="status">{texts.frame.loading}</p>
  const time = { period, from: Date.parse(data.from), stepSeconds: data.stepSeconds }
  const { names, titles, empty } = texts.pictures
  const counts = (name: string, fill: string, values: Series['values']): Series => ({ name, fill, values, sum: true })
  return (
    <div className="grid gap-x-8 gap-y-6 md:grid-cols-2">
      <Plot
        {...{ ...time, title: titles.received, empty: empty.received }}
        series={[counts(names.received, 'fill-link', data.received)]}
        below={counts(names.refused, 'fill-bad', data.refused)}
      />
      <Plot
        {...{ ...time, title: titles.answered, empty: empty.answered }}
        series={answerSeries(data)}
        borders={data.within}
      />
      <Plot {...{ ...time, title: titles.waiting, empty: empty.waiting }} series={waitingSeries(data)} />
      <Plot
        {...{ ...time, title: titles.failed, empty: empty.failed }}
        series={data.failed.map(({ reason, counts: values }, place) => counts(reason, FAILED[place] ?? '', values))}
      />
    </div>
  )
}

const FAILED = ['fill-bad', 'fill-bad/70', 'fill-wait', 'fill-wait/65', 'fill-quiet', 'fill-quiet/60']
const WAITING = ['fill-link/60', 'fill-link', 'fill-wait', 'fill-bad']

/** The longer bar first, so that the shorter one is in front of it. */
function answerSeries({ p50, p99 }: Minutes): Series[] {
  return [
    { name: texts.pictures.names.p99, fill: 'fill-link/60', values: p99 },
    { name: texts.pictures.names.p50, fill: 'fill-link', values: p50 },
  ]
}

function waitingSeries({ ages, waiting }: Minutes): Series[] {
  const borders = [0, ...ages].map((seconds) => texts.time.seconds(seconds))
  return borders.map((from, place) => ({
    name: texts.pictures.age(from, borders[place + 1]),
    fill: WAITING[place] ?? '',
    values: waiting.map((groups) => groups?.[place] ?? null),
  }))
}
