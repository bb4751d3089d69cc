import { type Machine, machineSentence } from '../measure/machine.ts'
import { NAIVE_CLIMBING, ONCEHOOK_CLIMBING } from '../rows/highest-rate.ts'
import type { Summary } from '../summarize.ts'
import { GOAL_HEADING, goalCells } from './goal-table.ts'
import { type Curve, drawLatencyPicture } from './latency-picture.ts'
import { markdownTable, textTable } from './tables.ts'
import { trialCells } from './trial-table.ts'

const LEGEND = 'µs: processor time for each event, of all threads of the process; MiB: resident memory of the receiver'

/** The summary of a run, for a terminal. */
export function reportLines({ goals, trials, lost, basis, broken }: Summary): string[] {
  const goalLines = textTable([GOAL_HEADING, ...goalCells(goals, lost)])
  return ['', ...textTable(trialCells(trials)), LEGEND, '', ...goalLines, '', ...basis, ...broken.map(asBroken)]
}

/** When a run took place, and on which machine. */
export interface RunAbout {
  readonly at: Date
  readonly machine: Machine
}

/** The summary as a Markdown document. */
export function reportMarkdown(summary: Summary, about: RunAbout): string {
  return `# Benchmark of ${about.at.toISOString().slice(0, 10)}\n\n${reportFigures(summary, about)}\n`
}

/** The summary as Markdown without a heading, with the date, the machine and the versions. */
export function reportFigures({ goals, trials, lost, basis, broken }: Summary, { at, machine }: RunAbout): string {
  const lines = [
    `Measured on ${at.toISOString().slice(0, 10)}: ${machineSentence(machine)}.`,
    '',
    'Medians of ratios that were taken in the same rounds, with the least and the most of them.',
    '',
    ...markdownTable([GOAL_HEADING, ...goalCells(goals, lost)]),
    '',
    ...markdownTable(trialCells(trials)),
    '',
    `${LEGEND}.`,
    '',
    ...[...basis, ...broken.map(asBroken)].map((sentence) => `- ${sentence}`),
  ]
  return lines.join('\n')
}

/** The picture of latency against rate; null if no trial tried several rates. */
export function reportPicture({ trials }: Summary): string | null {
  const pointsOf = (name: string) => trials.find(({ trial }) => trial.name === name)?.curve ?? []
  const curves: Curve[] = [
    { title: NAIVE_TITLE, color: '#b54708', points: pointsOf(NAIVE_CLIMBING.name) },
    { title: 'Oncehook', color: '#175cd3', points: pointsOf(ONCEHOOK_CLIMBING.name) },
  ]
  return curves.some(({ points }) => points.length > 0) ? drawLatencyPicture(curves) : null
}

function asBroken(sentence: string): string {
  return `not brought to an end: ${sentence}`
}

const NAIVE_TITLE = "naive: Express, the provider's library, one awaited insertOne"
