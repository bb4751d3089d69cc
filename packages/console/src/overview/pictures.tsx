import type { Answers } from '../api/operator-client.ts'
import { Read } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'
import { Plot, type Series } from './plot.tsx'
import { type Period, useMinutes } from './use-overview.ts'

type Minutes = Answers['minutes']

/** The four pictures. They are loaded after the page. */
export function Pictures({ period }: { readonly period: Period }) {
  return <Read query={useMinutes(period)}>{(minutes) => <Plots period={period} minutes={minutes} />}</Read>
}

function Plots({ period, minutes }: { readonly period: Period; readonly minutes: Minutes }) {
  const { received, refused, within, failed, p50, p99 } = minutes
  const time = { period, from: Date.parse(minutes.from), stepSeconds: minutes.stepSeconds }
  const counts = (name: string, fill: string, values: Series['values']): Series => ({ name, fill, values, sum: true })
  // The longer bar first, so that the shorter one is in front of it.
  const answered: Series[] = [
    { name: '99 %', fill: 'fill-link/60', values: p99 },
    { name: '50 %', fill: 'fill-link', values: p50 },
  ]
  return (
    <div className="grid gap-x-8 gap-y-6 md:grid-cols-2">
      <Plot
        {...{ ...time, title: 'Received and refused', empty: 'No delivery arrived in this time.' }}
        series={[counts('received', 'fill-link', received)]}
        below={counts('refused', 'fill-bad', refused)}
      />
      <Plot
        {...{ ...time, title: 'Answered within', empty: 'No delivery was answered in this time.' }}
        series={answered}
        borders={within}
      />
      <Plot
        {...{ ...time, title: 'Waiting, by age', empty: 'Nothing waited in this time.' }}
        series={waitingSeries(minutes)}
      />
      <Plot
        {...{ ...time, title: 'Failed attempts, by reason', empty: 'No attempt failed in this time.' }}
        series={failed.map(({ reason, counts: values }, place) => counts(reason, FAILED[place] ?? '', values))}
      />
    </div>
  )
}

const FAILED = ['fill-bad', 'fill-bad/70', 'fill-wait', 'fill-wait/65', 'fill-quiet', 'fill-quiet/60']
const WAITING = ['fill-link/60', 'fill-link', 'fill-wait', 'fill-bad']

function waitingSeries({ ages, waiting }: Minutes): Series[] {
  const borders = [0, ...ages].map((seconds) => texts.time.seconds(seconds))
  return borders.map((from, place) => {
    const to = borders[place + 1]
    return {
      name: to === undefined ? `over ${from}` : `under ${to}`,
      fill: WAITING[place] ?? '',
      values: waiting.map((groups) => groups?.[place] ?? null),
    }
  })
}
