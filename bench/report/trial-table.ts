import type { TrialSummary } from '../summarize.ts'
import type { Figures } from '../trial.ts'

const COLUMNS: readonly (readonly [figure: keyof Figures, heading: string, digits: number])[] = [
  ['perSecond', 'events/s', 0],
  ['highestPerSecond', 'highest rate', 0],
  ['p50Ms', 'p50 ms', 1],
  ['p99Ms', 'p99 ms', 1],
  ['calmP99Ms', 'p99 ms before', 1],
  ['receiverUs', 'receiver µs', 0],
  ['fulfilmentUs', 'fulfilment µs', 0],
  ['mongodUs', 'mongod µs', 0],
  ['residentMib', 'MiB at the end', 0],
  ['peakMib', 'most MiB', 0],
  ['startMs', 'start ms', 0],
  ['firstStartMs', 'empty ms', 0],
]

/** The medians of every trial, heading first; columns that no trial has are left out. */
export function trialCells(trials: readonly TrialSummary[]): string[][] {
  const columns = COLUMNS.filter(([figure]) => trials.some(({ figures }) => figures[figure] !== undefined))
  const lines = trials.map(({ trial, figures }) => [
    trial.title,
    ...columns.map(([figure, , digits]) => show(figures[figure]?.median, digits)),
  ])
  return [['medians', ...columns.map(([, heading]) => heading)], ...lines]
}

function show(value: number | undefined, digits: number): string {
  if (value === undefined) return ''
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
