import { join } from 'node:path'
import { conclude } from './conclude.ts'
import { calibrate } from './measure/calibrate.ts'
import { describeMachine, machineSentence } from './measure/machine.ts'
import { openLaboratory } from './open-laboratory.ts'
import { effortNotes, type Plan, PlanError, readPlan } from './plan.ts'
import { publish } from './report/publish.ts'
import { reportFigures, reportLines, reportMarkdown, reportPicture } from './report/report.ts'
import { writeResults } from './report/write-results.ts'
import { runStage, type StageResult } from './run-stage.ts'
import { STAGES } from './stages.ts'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error('Called off')))

try {
  process.exitCode = await run(readPlan(process.argv.slice(2), STAGES))
} catch (error) {
  const reason: unknown = stop.signal.aborted ? stop.signal.reason : error
  const stack = reason instanceof Error && !(reason instanceof PlanError) && !stop.signal.aborted ? reason.stack : null
  process.stderr.write(`${stack ?? (reason instanceof Error ? reason.message : reason)}\n`)
  process.exitCode = 1
}

async function run(plan: Plan): Promise<number> {
  const { form, effort, stages, publishes } = plan
  const say = (line: string): void => console.log(line)
  const folder = join(import.meta.dirname, '..', '.data', 'bench')
  await using laboratory = await openLaboratory({ folder, env: process.env, say, nodeFlags: [] })
  const machine = describeMachine(laboratory.mongodVersion)
  say(machineSentence(machine))
  const results: StageResult[] = []
  const shared = { laboratory, effort, calibrate, say, signal: stop.signal }
  for (const stage of stages) results.push(await runStage({ ...shared, stage }))
  const concluded = conclude(results)
  const conclusion = { ...concluded, basis: [...concluded.basis, ...effortNotes(plan)] }
  const about = { at: new Date(), machine }
  const picture = reportPicture(conclusion)
  const measured = results.map(({ stage, rounds, repeated }) => ({
    rows: stage.rows.map(({ name }) => name),
    rounds,
    repeated,
  }))
  const files = writeResults(join(import.meta.dirname, 'results'), about.at, {
    json: {
      machine,
      form,
      effort,
      goals: conclusion.goals,
      basis: conclusion.basis,
      broken: conclusion.broken,
      measured,
    },
    markdown: reportMarkdown(conclusion, about),
    picture,
  })
  if (publishes) publish(join(import.meta.dirname, '..', 'docs'), reportFigures(conclusion, about), picture)
  for (const line of [...reportLines(conclusion), '', `Every figure: bench/results/${files.join(', ')}`]) say(line)
  return conclusion.lost === 0 && conclusion.broken.length === 0 ? 0 : 1
}
