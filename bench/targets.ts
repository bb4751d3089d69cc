import type { RowSummary } from './summary.ts'

/** A goal and whether this run reached it. */
export interface Verdict {
  readonly goal: string
  readonly value: string
  readonly reached: boolean
}

interface Target {
  readonly goal: string
  readonly figure: (accepting: RowSummary) => number
  readonly show: (value: number) => string
  readonly least?: number
  readonly most?: number
}

const TARGETS: readonly Target[] = [
  {
    goal: 'Accepts a second, accepting alone, at least 2.5 times naive',
    figure: ({ against }) => against.acceptsPerSecond.median,
    show: (value) => `${value.toFixed(2)} times`,
    least: 2.5,
  },
  {
    goal: "Processor time of mongod for each accept at most 0.15 of naive's",
    figure: ({ against }) => against.mongodUs.median,
    show: (value) => value.toFixed(3),
    most: 0.15,
  },
  {
    goal: 'Resident memory of the gateway under 220 MiB',
    figure: ({ residentMib }) => residentMib.most,
    show: (value) => `${Math.round(value)} MiB`,
    most: 220,
  },
]

/** Compares a run with the goals. Missing one fails nothing: speed is reported, not tested. */
export function judge(rows: readonly RowSummary[]): Verdict[] {
  const accepting = rows.find(({ row }) => row === 'accepting')
  if (accepting === undefined) return []
  return TARGETS.map(({ goal, figure, show, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY }) => {
    const value = figure(accepting)
    return { goal, value: show(value), reached: value >= least && value <= most }
  })
}
