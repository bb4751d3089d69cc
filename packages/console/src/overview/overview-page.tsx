import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { PageFrame } from '../frame/page-frame.tsx'
import { ChipChoice } from '../parts/choice.tsx'
import { texts } from '../texts/texts.ts'
import { NeedsYou } from './needs-you.tsx'
import { PERIODS, type Period } from './use-overview.ts'

const Pictures = lazy(() => import('./pictures.tsx').then(({ Pictures: component }) => ({ default: component })))

/** The first page: what needs somebody, and four pictures of the last hour, day or week. */
export function OverviewPage() {
  const navigate = useNavigate()
  const period = useSearch({ from: '/', select: (search) => readPeriod({ ...search }).period ?? 'hour' })
  return (
    <PageFrame title="Overview">
      <div className="grid gap-x-8 gap-y-5 xl:grid-cols-[minmax(0,1fr)_24rem]">
        <NeedsYou />
        <section aria-labelledby="pictures" className="min-w-0 xl:order-first">
          <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
            <h2 id="pictures" className="text-base font-semibold">
              The last {period}
            </h2>
            <ChipChoice
              label="Time of the pictures"
              chosen={period}
              options={Object.entries(PERIODS)}
              onChoose={(chosen) => void navigate({ to: '/', search: readPeriod({ period: chosen }) })}
            />
          </div>
          <Suspense fallback={<p role="status">{texts.loading}</p>}>
            <Pictures period={period} />
          </Suspense>
        </section>
      </div>
    </PageFrame>
  )
}

/** Reads the period of an address; none if there is no such period. */
export function readPeriod(search: Readonly<Record<string, unknown>>): { readonly period?: Period } {
  const period = (Object.keys(PERIODS) as Period[]).find((one) => one === search.period)
  return period === undefined ? {} : { period }
}
