import type { Spread } from '../measure/statistics.ts'
import type { Goal, Unit } from '../row.ts'
import type { GoalResult } from '../summarize.ts'

/** The heading of the table of goals. */
export const GOAL_HEADING = ['what', 'against', 'target', 'aim', 'measured (least to most)', ''] as const

const VERDICTS = { aim: 'aim reached', reached: 'reached', missed: 'MISSED', 'not measured': 'not measured' } as const

/** The table of goals, one line of cells per goal. The last line counts lost events, which no speed can excuse. */
export function goalCells(goals: readonly GoalResult[], lost: number): string[][] {
  const lines = goals.map(({ goal, value, verdict }) => [
    goal.what,
    goal.against,
    bound(goal, goal.target),
    bound(goal, goal.aim),
    value === null ? '' : measured(value, goal.unit),
    VERDICTS[verdict],
  ])
  return [
    ...lines,
    ['Acknowledged and not found stored', '', '0', '0', String(lost), lost === 0 ? 'reached' : 'BROKEN'],
  ]
}

function bound({ direction, unit }: Goal, value: number | undefined): string {
  return value === undefined ? '' : `${direction} ${value.toLocaleString('en')}${suffix(unit)}`
}

function measured({ median, least, most }: Spread, unit: Unit): string {
  return `${show(median, unit)}${suffix(unit)} (${show(least, unit)} to ${show(most, unit)})`
}

function suffix(unit: Unit): string {
  if (unit === 'MiB') return ' MiB'
  return unit === '/s' ? '/s' : ''
}

function show(value: number, unit: Unit): string {
  if (unit === 'times') return value.toFixed(2)
  if (unit === 'share') return value.toFixed(3)
  return Math.round(value).toLocaleString('en')
}
