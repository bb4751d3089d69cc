import { join } from 'node:path'
import { calibrate } from './measure/calibrate.ts'
import { describeMachine, machineSentence } from './measure/machine.ts'
import { openSetup } from './open-setup.ts'
import { PHASES } from './phases.ts'
import { effortNotes, type Plan, PlanError, readPlan } from './plan.ts'
import { publish } from './report/publish.ts'
import { reportFigures, reportLines, reportMarkdown, reportPicture } from './report/report.ts'
import { writeResults } from './report/write-results.ts'
import { type PhaseResult, runPhase } from './run-phase.ts'
import { summarize } from './summarize.ts'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error('Called off')))

try {
  process.exitCode = await run(readPlan(process.argv.slice(2), PHASES))
} catch (error) {
  const reason: unknown = stop.signal.aborted ? stop.signal.reason : error
  const stack = reason instanceof Error && !(reason instanceof PlanError) && !stop.signal.aborted ? reason.stack : null
  process.stderr.write(`${stack ?? (reason instanceof Error ? reason.message : reason)}\n`)
  process.exitCode = 1
}

async function run(plan: Plan): Promise<number> {
  const { form, effort, phases, publishes } = plan
  const say = (line: string): void => console.log(line)
  const folder = join(import.meta.dirname, '..', '.data', 'bench')
  await using setup = await openSetup({ folder, env: process.env, say, nodeFlags: [] })
  const machine = describeMachine(setup.mongodVersion)
  say(machineSentence(machine))
  const results: PhaseResult[] = []
  const shared = { setup, effort, calibrate, say, signal: stop.signal }
  for (const phase of phases) results.push(await runPhase({ ...shared, phase }))
  const summed = summarize(results)
  const summary = { ...summed, basis: [...summed.basis, ...effortNotes(plan)] }
  const about = { at: new Date(), machine }
  const picture = reportPicture(summary)
  const measured = results.map(({ phase, rounds, repeated }) => ({
    rows: phase.rows.map(({ name }) => name),
    rounds,
    repeated,
  }))
  const files = writeResults(join(import.meta.dirname, 'results'), about.at, {
    json: {
      machine,
      form,
      effort,
      goals: summary.goals,
      basis: summary.basis,
      broken: summary.broken,
      measured,
    },
    markdown: reportMarkdown(summary, about),
    picture,
  })
  if (publishes) publish(join(import.meta.dirname, '..', 'docs'), reportFigures(summary, about), picture)
  for (const line of [...reportLines(summary), '', `Every figure: bench/results/${files.join(', ')}`]) say(line)
  return summary.lost === 0 && summary.broken.length === 0 ? 0 : 1
}
