import type { CurvePoint } from '../trial.ts'

/** One line of the picture. */
export interface Curve {
  readonly title: string
  readonly color: string
  readonly points: readonly CurvePoint[]
}

const WIDTH = 760
const HEIGHT = 420
const PLOT = { left: 64, right: 740, top: 52, bottom: 364 } as const
const LEAST_MS = 1
const LIMIT_MS = 100
const RATE_STEPS = [250, 500, 1_000, 2_000, 2_500, 5_000]
const MOST_TICKS = 9

/**
 * Draws latency against rate as an SVG: the p99 of every curve, with a linear axis of rates and a logarithmic axis of
 * milliseconds. Points are hollow where deliveries failed. A line marks 100 ms. All colours are fixed.
 */
export function drawLatencyPicture(curves: readonly Curve[]): string {
  const points = curves.flatMap((curve) => curve.points)
  if (points.length === 0) throw new RangeError('A picture needs points')
  const scale = createScale(points)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="p99 latency against rate" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    ...latencyAxis(scale),
    ...rateAxis(scale),
    ...curves.flatMap((curve) => drawCurve(curve, scale)),
    ...curves.map((curve, index) => drawLegend(curve, index)),
    '</svg>',
    '',
  ].join('\n')
}

interface Scale {
  readonly mostRate: number
  readonly mostMs: number
  readonly x: (perSecond: number) => number
  readonly y: (ms: number) => number
}

function createScale(points: readonly CurvePoint[]): Scale {
  const mostRate = Math.max(...points.map(({ perSecond }) => perSecond)) * 1.04
  const mostMs = 10 ** Math.ceil(Math.log10(Math.max(LIMIT_MS * 2, ...points.map(({ p99Ms }) => p99Ms))))
  const x = (perSecond: number): number => round(PLOT.left + (perSecond / mostRate) * (PLOT.right - PLOT.left))
  const decades = Math.log10(mostMs / LEAST_MS)
  const y = (ms: number): number => {
    const share = Math.log10(Math.max(LEAST_MS, ms) / LEAST_MS) / decades
    return round(PLOT.bottom - share * (PLOT.bottom - PLOT.top))
  }
  return { mostRate, mostMs, x, y }
}

function latencyAxis({ mostMs, y }: Scale): string[] {
  const lines: string[] = []
  for (let ms = LEAST_MS; ms <= mostMs; ms *= 10) {
    const limit = ms === LIMIT_MS
    lines.push(
      line([PLOT.left, y(ms)], [PLOT.right, y(ms)], limit ? 'stroke="#b42318" stroke-dasharray="6 4"' : GRID),
      text([PLOT.left - 8, y(ms) + 4], `${ms.toLocaleString('en')} ms`, { anchor: 'end', fill: INK }),
    )
  }
  return lines
}

function rateAxis({ mostRate, x }: Scale): string[] {
  const step = RATE_STEPS.find((one) => mostRate / one <= MOST_TICKS) ?? mostRate / MOST_TICKS
  const lines = [line([PLOT.left, PLOT.bottom], [PLOT.right, PLOT.bottom], `stroke="${INK}"`)]
  for (let rate = 0; rate <= mostRate; rate += step) {
    const at = [x(rate), PLOT.bottom + 18] as const
    lines.push(text(at, rate.toLocaleString('en'), { anchor: 'middle', fill: INK }))
  }
  const middle = (PLOT.left + PLOT.right) / 2
  const caption = 'deliveries a second, sent by a fixed schedule; p99 from the instant each was due'
  return [...lines, text([middle, PLOT.bottom + 40], caption, { anchor: 'middle', fill: INK })]
}

function drawCurve({ color, points }: Curve, { x, y }: Scale): string[] {
  const path = points.map(({ perSecond, p99Ms }) => `${x(perSecond)},${y(p99Ms)}`).join(' ')
  const dots = points.map(({ perSecond, p99Ms, failed }) => {
    const title = `${perSecond.toLocaleString('en')}/s: p99 ${p99Ms.toFixed(1)} ms${failed > 0 ? `, ${failed} failed` : ''}`
    const fill = failed > 0 ? '#ffffff' : color
    return `<circle cx="${x(perSecond)}" cy="${y(p99Ms)}" r="4" fill="${fill}" stroke="${color}" stroke-width="2"><title>${escapeXml(title)}</title></circle>`
  })
  return [`<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2.5"/>`, ...dots]
}

function drawLegend({ title, color }: Curve, index: number): string {
  const y = 22 + index * 18
  const mark = line([PLOT.left, y - 4], [PLOT.left + 24, y - 4], `stroke="${color}" stroke-width="3"`)
  return `${mark}${text([PLOT.left + 32, y], title, { anchor: 'start', fill: INK })}`
}

const INK = '#344054'
const GRID = 'stroke="#e4e7ec"'

type Place = readonly [x: number, y: number]

function line([x1, y1]: Place, [x2, y2]: Place, stroke: string): string {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ${stroke}/>`
}

function text([x, y]: Place, words: string, { anchor, fill }: { anchor: string; fill: string }): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${fill}">${escapeXml(words)}</text>`
}

function escapeXml(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
