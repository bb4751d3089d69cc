// How the figures of a run are shown: two tables, for a terminal or as Markdown in docs/explanation/performance.md.
import { type Machine, machineSentence } from './measure/machine.ts'
import type { Goal, Unit } from './row.ts'
import type { Summary } from './summary.ts'
import { markdownTable, textTable } from './tables.ts'
import type { Figures } from './trial.ts'

const GOAL_HEADING = ['what', 'against', 'target', 'measured (least to most)', '', 'limited by']
const VERDICTS = { reached: 'reached', missed: 'MISSED', 'not measured': 'not measured' } as const
const LEGEND = 'µs: processor time for each event, of all threads of the process; MiB: resident memory of the receiver'

const COLUMNS: readonly (readonly [figure: keyof Figures, heading: string, digits: number])[] = [
  ['perSecond', 'events/s', 0],
  ['firstPerSecond', 'events/s at first', 0],
  ['p50Ms', 'p50 ms', 1],
  ['p99Ms', 'p99 ms', 1],
  ['calmP99Ms', 'p99 ms before', 1],
  ['receiverUs', 'receiver µs', 0],
  ['fulfilmentUs', 'fulfilment µs', 0],
  ['mongodUs', 'mongod µs', 0],
  ['residentMib', 'MiB at the end', 0],
  ['peakMib', 'most MiB', 0],
  ['startMs', 'start ms', 0],
]

/** The summary of a run, for a terminal. */
export function reportLines(summary: Summary): string[] {
  const tables = [...textTable(trialCells(summary)), LEGEND, '', ...textTable(goalCells(summary))]
  return ['', ...tables, '', ...notesOf(summary)]
}

/** The summary as Markdown without a heading, with the date, the machine and the versions. */
export function reportFigures(summary: Summary, at: Date, machine: Machine): string {
  const lines = [
    `Measured on ${at.toISOString().slice(0, 10)}: ${machineSentence(machine)}.`,
    'Medians of ratios that were taken in the same rounds, with the least and the most of them.',
    markdownTable(goalCells(summary)).join('\n'),
    markdownTable(trialCells(summary)).join('\n'),
    `${LEGEND}.`,
    notesOf(summary)
      .map((sentence) => `- ${sentence}`)
      .join('\n'),
  ]
  return lines.join('\n\n')
}

const BEGIN = '<!-- figures of the last published run: written by npm run bench -- --full --publish -->'
const END = '<!-- end of the figures -->'

/** @throws if the document has no place for figures */
export function replaceFigures(document: string, figures: string): string {
  const [before, rest = ''] = document.split(BEGIN)
  const [, after] = rest.split(END)
  if (before === undefined || after === undefined) throw new Error(`The document has no place for figures: ${BEGIN}`)
  return `${before}${BEGIN}\n\n${figures.trim()}\n\n${END}${after}`
}

function notesOf({ basis, broken }: Summary): string[] {
  return [...basis, ...broken.map((sentence) => `not brought to an end: ${sentence}`)]
}

/** One line per goal. The last line counts lost events, which no speed can excuse. */
function goalCells({ goals, lost }: Summary): string[][] {
  const lines = goals.map(({ goal, value, verdict }) => {
    const { what, against, unit } = goal
    const measured = value && `${show(value.median, unit)} (${show(value.least, unit)} to ${show(value.most, unit)})`
    return [what, against, bound(goal), measured ?? '', VERDICTS[verdict], goal.limitedBy]
  })
  const verdict = lost === 0 ? 'reached' : 'BROKEN'
  return [GOAL_HEADING, ...lines, ['Acknowledged and not found stored', '', '0', String(lost), verdict, '']]
}

function bound({ direction, target, unit }: Goal): string {
  return `${direction} ${target.toLocaleString('en')}${unit === 'times' ? '' : ` ${unit}`}`
}

function show(value: number, unit: Unit): string {
  return unit === 'times' ? value.toFixed(2) : `${Math.round(value)} ${unit}`
}

/** The medians of every trial, heading first; columns that no trial has are left out. */
function trialCells({ trials }: Summary): string[][] {
  const columns = COLUMNS.filter(([figure]) => trials.some(({ figures }) => figures[figure] !== undefined))
  const lines = trials.map(({ trial, figures }) => [
    trial.title,
    ...columns.map(([figure, , digits]) => {
      const places = { minimumFractionDigits: digits, maximumFractionDigits: digits }
      return figures[figure]?.median.toLocaleString('en', places) ?? ''
    }),
  ])
  return [['medians', ...columns.map(([, heading]) => heading)], ...lines]
}
