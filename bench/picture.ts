// The picture beside the figures: how many times the receiver that each row is compared with, on a logarithmic axis.
import type { Summary } from './summary.ts'

const WIDTH = 860
const LINE = 26
const TOP = 48
const PLOT = { left: 500, right: 790 } as const
// From a tenth to ten times.
const DECADES = 1

const INK = '#344054'
const COLOURS = { reached: '#175cd3', missed: '#b54708', 'not measured': '#98a2b3' } as const

type Ratio = Summary['goals'][number] & { readonly value: NonNullable<Summary['goals'][number]['value']> }

/** Draws the ratios of a run as an SVG: a bar from 1 to each median, its spread, and a mark where the target is. */
export function drawRatios({ goals }: Summary): string {
  const ratios = goals.filter((result): result is Ratio => result.goal.unit === 'times' && result.value !== null)
  const height = TOP + ratios.length * LINE + 12
  const title = 'How many times the compared receiver: rates are better right of 1, waits left of it'
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    text(16, 22, `${title}. The mark is the target: blue reaches it, brown does not.`),
    ...[0.1, 0.3, 1, 3, 10].flatMap((at) => [
      `<line x1="${x(at)}" y1="${TOP - 8}" x2="${x(at)}" y2="${height - 12}" stroke="${at === 1 ? INK : '#e4e7ec'}"/>`,
      text(x(at), TOP - 12, String(at), 'middle'),
    ]),
    ...ratios.flatMap((ratio, index) => drawRatio(ratio, TOP + index * LINE)),
    '</svg>',
    '',
  ].join('\n')
}

function drawRatio({ goal, value, verdict }: Ratio, top: number): string[] {
  const { median, least, most } = value
  const middle = top + LINE / 2
  const [from, to] = [Math.min(x(1), x(median)), Math.max(x(1), x(median))]
  const colour = COLOURS[verdict]
  return [
    text(PLOT.left - 12, middle + 4, goal.what.replaceAll('`', ''), 'end'),
    `<rect x="${from}" y="${middle - 7}" width="${to - from}" height="14" fill="${colour}" fill-opacity="0.8"/>`,
    `<line x1="${x(least)}" y1="${middle}" x2="${x(most)}" y2="${middle}" stroke="${INK}" stroke-width="1.5"/>`,
    `<line x1="${x(goal.target)}" y1="${middle - 10}" x2="${x(goal.target)}" y2="${middle + 10}" stroke="${INK}" stroke-width="2"/>`,
    text(PLOT.right + 12, middle + 4, median.toFixed(2)),
  ]
}

/** The place of a ratio on the axis; one beyond it stands at its end. */
function x(ratio: number): number {
  const share = Math.min(1, Math.max(-1, Math.log10(ratio) / DECADES))
  return Math.round((PLOT.left + PLOT.right) / 2 + (share * (PLOT.right - PLOT.left)) / 2)
}

function text(at: number, y: number, words: string, anchor: 'start' | 'middle' | 'end' = 'start'): string {
  return `<text x="${at}" y="${y}" text-anchor="${anchor}" fill="${INK}">${words.replaceAll('&', '&amp;')}</text>`
}
