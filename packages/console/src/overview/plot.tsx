// A picture of bars over a fixed time, drawn as SVG: it needs no library, and no style that the policy of the page refuses.

import { type PointerEvent, useState } from 'react'
import { texts } from '../texts/texts.ts'
import type { Period } from './use-overview.ts'

/** What one colour of a picture shows, with a number for each step. Null: nothing is known. */
export interface Series {
  readonly name: string
  readonly fill: string
  readonly values: readonly (number | null)[]
  /** Whether the legend has the sum of all steps. Default: the newest number. */
  readonly sum?: boolean
}

interface PlotProps {
  readonly title: string
  /** What is said instead of an empty picture. */
  readonly empty: string
  readonly period: Period
  /** The beginning of the first step, in milliseconds. */
  readonly from: number
  readonly stepSeconds: number
  /** On top of each other, the first at the bottom. */
  readonly series: readonly Series[]
  /** Its bars hang below the line. */
  readonly below?: Series
  /** The values are places among these seconds, and all bars stand on the line, the later ones in front. */
  readonly borders?: readonly number[]
}

export function Plot(props: PlotProps) {
  const { title, empty, series, below } = props
  const [step, setStep] = useState<number | null>(null)
  const all = below === undefined ? series : [...series, below]
  const isEmpty = all.every(({ values }) => values.every((value) => value === null || (value === 0 && !props.borders)))
  const steps = all[0]?.values.length ?? 0
  const newest = all[0]?.values.findLastIndex((_, at) => all.some(({ values }) => values[at] !== null)) ?? null
  const shown = step ?? (all.some(({ sum }) => sum) ? null : newest)
  const follow = (event: PointerEvent): void => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    setStep(Math.min(steps - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * steps))))
  }
  return (
    <figure className="min-w-0">
      <figcaption>
        <h3 className="font-semibold">
          {title}
          {shown !== null && !isEmpty && (
            <span className="ml-2 font-normal text-quiet tabular-nums">{texts.time.short(timeOf(props, shown))}</span>
          )}
        </h3>
        {!isEmpty && <Legend {...props} series={all} step={shown} />}
      </figcaption>
      {isEmpty ? (
        <p className="mt-1 flex h-24 items-center justify-center md:h-60 border-y border-line text-quiet">{empty}</p>
      ) : (
        <div className="mt-2 grid grid-cols-[auto_minmax(0,1fr)] gap-x-2">
          <Scale {...props} />
          <div className="relative h-32 md:h-44" onPointerMove={follow} onPointerLeave={() => setStep(null)}>
            <Bars {...props} step={step} />
          </div>
          <span />
          <Times {...props} steps={steps} />
        </div>
      )}
    </figure>
  )
}

function timeOf({ from, stepSeconds }: PlotProps, step: number): Date {
  return new Date(from + step * stepSeconds * 1_000)
}

function Legend({ series, step, borders }: PlotProps & { readonly step: number | null }) {
  const show = (value: number | null | undefined): string => {
    if (value === null || value === undefined) return texts.none
    return borders === undefined ? texts.number(value) : within(borders[value], borders.at(-1))
  }
  return (
    <ul className="flex min-h-12 flex-wrap content-start gap-x-4">
      {series.map(({ name, fill, values }) => (
        <li key={name} className="flex items-center gap-1.5 wrap-anywhere">
          <svg aria-hidden="true" className="size-2.5 shrink-0">
            <rect className={fill} width="100%" height="100%" />
          </svg>
          <span>
            <span className="text-quiet">{name}</span>{' '}
            <strong className="font-semibold tabular-nums">{show(step === null ? sumOf(values) : values[step])}</strong>
          </span>
        </li>
      ))}
    </ul>
  )
}

function within(seconds: number | undefined, last: number | undefined): string {
  if (seconds === undefined) return `over ${last} s`
  return seconds < 1 ? `${seconds * 1_000} ms` : `${seconds} s`
}

const sumOf = (values: Series['values']): number => values.reduce<number>((sum, value) => sum + (value ?? 0), 0)

/** How high the bars are at most, above and below the line. */
function heightsOf({ series, below, borders }: PlotProps): readonly [above: number, below: number] {
  if (borders !== undefined) return [borders.length + 1, 0]
  const sums = series[0]?.values.map((_, step) => sumOf(series.map(({ values }) => values[step] ?? null))) ?? []
  return [Math.max(1, ...sums), Math.max(0, ...(below?.values ?? []).map((value) => value ?? 0))]
}

const HIGH = 100
const WIDE = 10
/** The least height of a bar, so that one among thousands is seen. */
const LEAST = 2

function Bars(props: PlotProps & { readonly step: number | null }) {
  const { series, below, borders, step } = props
  const [above, hanging] = heightsOf(props)
  const scale = (HIGH - 2 * LEAST) / (above + hanging)
  const line = LEAST + above * scale
  const bottoms = series[0]?.values.map(() => 0) ?? []
  const heightOf = (value: number | null): number => {
    if (value === null) return 0
    return borders === undefined ? value && Math.max(LEAST, value * scale) : (value + 1) * scale
  }
  const bar = (at: number, y: number, height: number): string =>
    height === 0 ? '' : `M${at * WIDE + 1} ${y}h${WIDE - 2}v${height}h-${WIDE - 2}z`
  const paths = series.map(({ name, fill, values }) => {
    const path = values.map((value, at) => {
      const height = heightOf(value)
      const bottom = borders === undefined ? (bottoms[at] ?? 0) : 0
      bottoms[at] = bottom + height
      return bar(at, line - bottom - height, height)
    })
    return <path key={name} className={fill} d={path.join('')} />
  })
  return (
    <svg
      role="img"
      aria-label={props.title}
      className="h-full w-full"
      viewBox={`0 0 ${bottoms.length * WIDE} ${HIGH}`}
      preserveAspectRatio="none"
    >
      {step !== null && <rect className="fill-line" x={step * WIDE} width={WIDE} height={HIGH} />}
      {paths}
      {below !== undefined && (
        <path className={below.fill} d={below.values.map((value, at) => bar(at, line, heightOf(value))).join('')} />
      )}
      <line className="stroke-edge" x2={bottoms.length * WIDE} y1={line} y2={line} vectorEffect="non-scaling-stroke" />
    </svg>
  )
}

/** The highest numbers, or some of the borders, beside the bars. */
function Scale(props: PlotProps) {
  const [above, hanging] = heightsOf(props)
  const { borders } = props
  const marks: readonly (readonly [at: number, text: string])[] =
    borders === undefined
      ? [
          [0, texts.number(above)],
          [100, texts.number(hanging)],
        ]
      : [1, 4, 7, 10].map((place) => [100 - ((place + 1) / above) * 96 - 2, within(borders[place], 0)])
  return (
    <div aria-hidden="true" className="relative w-14 text-right whitespace-nowrap text-quiet tabular-nums">
      {marks.map(([at, text]) => (
        <span key={at} className="absolute right-0 -translate-y-1/2 leading-none" style={{ top: `${at}%` }}>
          {text}
        </span>
      ))}
    </div>
  )
}

/** Which steps have a label, by the text of their beginning, and which part of it. */
const LABELS = {
  hour: [/0$/, 6, 11],
  day: [/ (?:00|04|08|12|16|20):0\d$/, 6, 11],
  week: [/ 00:/, 0, 5],
} as const

function Times(props: PlotProps & { readonly steps: number }) {
  const [isLabelled, begin, end] = LABELS[props.period]
  const labels = Array.from(
    { length: props.steps },
    (_, step) => [(step + 0.5) / props.steps, texts.time.short(timeOf(props, step))] as const,
  )
  return (
    <div aria-hidden="true" className="relative h-5 whitespace-nowrap text-quiet tabular-nums">
      {labels
        .filter(([at, text]) => isLabelled.test(text) && Math.abs(at - 0.5) < 0.47)
        .map(([at, text]) => (
          <span key={at} className="absolute -translate-x-1/2" style={{ left: `${at * 100}%` }}>
            {text.slice(begin, end)}
          </span>
        ))}
    </div>
  )
}
