import type { Conclusion } from '../conclude.ts'
import { NAIVE_CLIMBING, ONCEHOOK_CLIMBING } from '../rows/highest-rate.ts'
import { GOAL_HEADING, goalCells } from './goal-table.ts'
import { type Curve, drawLatencyPicture } from './latency-picture.ts'
import { markdownTable, textTable } from './tables.ts'
import { trialCells } from './trial-table.ts'

const LEGEND = 'µs: processor time for each event, of all threads of the process; MiB: resident memory of the receiver'

/** What a run says in the end, for a terminal. */
export function reportLines({ goals, trials, lost, basis }: Conclusion): string[] {
  const goalLines = textTable([GOAL_HEADING, ...goalCells(goals, lost)])
  return ['', ...textTable(trialCells(trials)), LEGEND, '', ...goalLines, '', ...basis]
}

/** The same as Markdown, with the machine and the versions. */
export function reportMarkdown(conclusion: Conclusion, machine: Readonly<Record<string, unknown>>, at: Date): string {
  const { goals, trials, lost, basis } = conclusion
  const about = Object.entries(machine).map(([name, value]) => `${name} ${value}`)
  const lines = [
    `# Benchmark of ${at.toISOString().slice(0, 10)}`,
    '',
    `${about.join(', ')}.`,
    '',
    'Medians of ratios that were taken in the same rounds, with the least and the most of them.',
    '',
    ...markdownTable([GOAL_HEADING, ...goalCells(goals, lost)]),
    '',
    ...markdownTable(trialCells(trials)),
    '',
    `${LEGEND}.`,
    '',
    ...basis.map((sentence) => `- ${sentence}`),
    '',
  ]
  return lines.join('\n')
}

/** The picture of latency against rate; null where no rates were gone through. */
export function reportPicture({ trials }: Conclusion): string | null {
  const pointsOf = (name: string) => trials.find(({ trial }) => trial.name === name)?.curve ?? []
  const curves: Curve[] = [
    { title: NAIVE_TITLE, color: '#b54708', points: pointsOf(NAIVE_CLIMBING.name) },
    { title: 'Oncehook', color: '#175cd3', points: pointsOf(ONCEHOOK_CLIMBING.name) },
  ]
  return curves.some(({ points }) => points.length > 0) ? drawLatencyPicture(curves) : null
}

const NAIVE_TITLE = "naive: Express, the provider's library, one awaited insertOne"
