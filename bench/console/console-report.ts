import { spreadOf } from '../measure/statistics.ts'
import { textTable } from '../report/tables.ts'
import type { Offered } from './console-system.ts'
import type { Visit, VisitPhase } from './visit.ts'

/** One round: a visit to the page, and the deliveries that were sent during it. */
export interface ConsoleRound {
  readonly visit: Visit
  readonly offered: Offered
}

/** One figure: its value in every round, and its upper limit. */
interface Line {
  readonly what: string
  readonly unit: '' | ' ms' | ' MiB' | '/s'
  readonly values: readonly number[]
  readonly most?: number
}

const FIRST_PAINT_MS = 1_000
const FILTER_MS = 300
const LONG_TASK_MS = 200
const PHASES: readonly VisitPhase[] = ['opening', 'filtering', 'following']
const HEADING = ['what', 'target', 'median (least to most)', ''] as const

/** Formats at least one round as a table for a terminal. A target is reached only if the worst round reaches it. */
export function consoleReport(rounds: readonly ConsoleRound[]): string[] {
  return textTable([HEADING, ...linesOf(rounds).map(toCells)])
}

function linesOf(rounds: readonly ConsoleRound[]): Line[] {
  const visits = rounds.map(({ visit }) => visit)
  const line = (what: string, unit: Line['unit'], read: (visit: Visit) => number): Line => ({
    ...{ what, unit, values: visits.map(read) },
  })
  const filters = Object.keys(visits[0]?.filterMs ?? {})
  return [
    { ...line('first paint', ' ms', ({ firstPaintMs }) => firstPaintMs), most: FIRST_PAINT_MS },
    line('first rows', ' ms', ({ firstRowsMs }) => firstRowsMs),
    ...filters.map((name) => ({
      ...line(`filter: ${name}`, ' ms', ({ filterMs }) => filterMs[name] ?? Number.NaN),
      most: FILTER_MS,
    })),
    ...PHASES.map((phase) => ({
      ...line(`longest task, ${phase}`, ' ms', (visit) => Math.max(0, ...tasksOf(visit, phase))),
      most: LONG_TASK_MS,
    })),
    line('tasks over 50 ms', '', ({ longTasks }) => longTasks.length),
    line('messages of the stream', '', ({ messages }) => messages),
    line('longest wait for one', ' ms', ({ longestGapMs }) => longestGapMs),
    line('changes that it left out', '', ({ skipped }) => skipped),
    line('memory of the script', ' MiB', ({ heapMib }) => heapMib),
    { what: 'new events', unit: '/s', values: rounds.map(({ offered }) => offered.perSecond) },
  ]
}

function tasksOf({ longTasks }: Visit, wanted: VisitPhase): number[] {
  return longTasks.filter(({ phase }) => phase === wanted).map(({ ms }) => ms)
}

function toCells({ what, unit, values, most }: Line): string[] {
  const { median, least, most: highest } = spreadOf(values)
  const measured = `${show(median)}${unit} (${show(least)} to ${show(highest)})`
  if (most === undefined) return [what, '', measured, '']
  return [what, `at most ${show(most)}${unit}`, measured, highest <= most ? 'reached' : 'MISSED']
}

function show(value: number): string {
  return Math.round(value).toLocaleString('en')
}
