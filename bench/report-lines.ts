import type { Conclusion } from './conclude.ts'
import type { Spread } from './measure/statistics.ts'
import { ROWS } from './rows.ts'
import type { RowSummary } from './summary.ts'

const COLUMNS: readonly [heading: string, cell: (row: RowSummary) => string][] = [
  ['medians of the rounds', ({ row }) => ROWS.find(({ name }) => name === row)?.title ?? row],
  ['events/s', ({ acceptsPerSecond }) => whole(acceptsPerSecond.median)],
  ['of naive', ({ against }) => ratio(against.acceptsPerSecond)],
  ['mongod µs', ({ mongodUs }) => whole(mongodUs.median)],
  ['of naive', ({ against }) => ratio(against.mongodUs)],
  ['receiver µs', ({ receiverUs }) => whole(receiverUs.median)],
  ['fulfilment µs', ({ fulfilmentUs }) => (fulfilmentUs === null ? '' : whole(fulfilmentUs.median))],
  ['p50 ms', ({ p50Ms }) => p50Ms.median.toFixed(1)],
  ['p99 ms', ({ p99Ms }) => p99Ms.median.toFixed(1)],
  ['MiB', ({ residentMib }) => whole(residentMib.most)],
]

const LEGEND = 'µs: processor time for each event, of all threads of the process; MiB: the most it had resident'

/**
 * What a run says in the end: the table of medians, ratios as the median of the rounds with the least and the most of
 * them, then one line for each goal.
 */
export function conclusionLines({ rows, verdicts, lost, basis }: Conclusion): string[] {
  const goals = verdicts.map(({ goal, value, reached }) => `${reached ? 'reached' : 'missed '}  ${goal}: ${value}`)
  const kept = `${lost === 0 ? 'reached' : 'BROKEN '}  Events acknowledged and not found afterwards: ${lost}`
  return ['', ...tableLines(rows), LEGEND, '', basis, ...goals, kept]
}

function tableLines(rows: readonly RowSummary[]): string[] {
  const table = [COLUMNS.map(([heading]) => heading), ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row)))]
  const widths = COLUMNS.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)))
  const align = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return table.map((cells) => cells.map(align).join('  '))
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function ratio({ median, least, most }: Spread): string {
  return `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`
}
