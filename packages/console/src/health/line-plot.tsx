import { useEffect, useRef } from 'react'
import Plot from 'uplot'
import { texts } from '../texts/texts.ts'

/** A line of a plot. A value that is null leaves a gap. */
export interface PlotLine {
  readonly label: string
  /** The class of its colour, which names a value of both themes. */
  readonly colour: string
  readonly values: readonly (number | null)[]
}

/** What a plot shows. */
export interface LinePlotProps {
  readonly title: string
  /** Seconds since 1970, one for each value. */
  readonly times: readonly number[]
  readonly lines: readonly PlotLine[]
}

const HEIGHT_PX = 160
const GRID_PX = 1
const LINE_PX = 1.5
const POINT_PX = 5
const TIMES_PX = 30
/** Seconds between two times below a plot. They are shown to the minute. */
const TIME_STEPS = [60, 120, 300, 600, 1_200, 3_600]
const DARK = '(prefers-color-scheme: dark)'

/** Lines over time. It is a picture: the same numbers must also be shown as text. */
export function LinePlot({ title, times, lines }: LinePlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const names = useRef<HTMLUListElement>(null)
  const plot = useRef<Plot>(null)
  const kinds = lines.map(({ label }) => label).join()
  useEffect(() => {
    if (place.current === null || names.current === null) return
    const drawn = openPlot(place.current, names.current, kinds.split(','))
    plot.current = drawn
    const stop = followSurroundings(place.current, drawn)
    return () => {
      stop()
      drawn.destroy()
      plot.current = null
    }
  }, [kinds])
  useEffect(() => {
    plot.current?.setData([[...times], ...lines.map(({ values }) => [...values])])
  }, [times, lines])
  return (
    <figure className="mt-2 min-w-0">
      <figcaption>
        {title}
        <ul ref={names} className="flex flex-wrap gap-x-4">
          {lines.map(({ label, colour }) => (
            <li key={label} className={colour}>
              <span aria-hidden="true">━ </span>
              {label}
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={place} role="img" aria-label={title} className="text-quiet" />
    </figure>
  )
}

/** Creates an empty plot. When it draws, it takes its colours from its element and from the labels. */
function openPlot(place: HTMLElement, names: HTMLElement, labels: readonly string[]): Plot {
  const colourOf = (element: Element | null): string => getComputedStyle(element ?? place).color
  const axis = {
    stroke: () => colourOf(place),
    grid: { stroke: () => colourOf(place), width: GRID_PX, dash: [1, 4] },
    ticks: { show: false },
  }
  const options = {
    ...{ width: place.clientWidth, height: HEIGHT_PX, legend: { show: false }, cursor: { show: false } },
    scales: { y: { range: (_: Plot, __: number, most: number): [number, number] => [0, Math.max(most, 1) * 1.1] } },
    axes: [
      {
        ...{ ...axis, size: TIMES_PX, incrs: TIME_STEPS },
        values: (_: Plot, at: number[]) => at.map((seconds) => texts.time.clock(new Date(seconds * 1_000))),
      },
      { ...axis, values: (_: Plot, at: number[]) => at.map((value) => texts.number(value)) },
    ],
    series: [
      {},
      ...labels.map((label, index) => ({
        ...{ label, width: LINE_PX, stroke: () => colourOf(names.children.item(index)) },
        // A line needs two values. A single value between gaps is drawn as a point.
        points: {
          ...{ show: true, size: POINT_PX, width: 0, filter: findLone },
          fill: () => colourOf(names.children.item(index)),
        },
      })),
    ],
  }
  return new Plot(options, [[], ...labels.map(() => [])], place)
}

/** The indexes of the values of a line that have no value next to them. */
function findLone({ data }: Plot, line: number): number[] {
  const values = data[line] ?? []
  const isGap = (index: number): boolean => (values[index] ?? null) === null
  return Array.from(values.keys()).filter((index) => !isGap(index) && isGap(index - 1) && isGap(index + 1))
}

/** Draws the plot again when the width of its element or the theme changes. */
function followSurroundings(place: HTMLElement, plot: Plot): () => void {
  const sizes = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT_PX }))
  sizes.observe(place)
  const draw = (): void => plot.redraw(false)
  const chosen = new MutationObserver(draw)
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  const ofSystem = window.matchMedia(DARK)
  ofSystem.addEventListener('change', draw)
  return () => {
    sizes.disconnect()
    chosen.disconnect()
    ofSystem.removeEventListener('change', draw)
  }
}
