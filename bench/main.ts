// Compares Oncehook with hand-written receivers on this machine, and says which targets it reaches: npm run bench.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { calibrate } from './measure/calibrate.ts'
import { describeMachine, machineSentence } from './measure/machine.ts'
import { openSetup } from './open-setup.ts'
import { drawRatios } from './picture.ts'
import { type Plan, PlanError, readPlan } from './plan.ts'
import { replaceFigures, reportFigures, reportLines } from './report.ts'
import { type PhaseResult, runPhase } from './run-phase.ts'
import { measureScale } from './scale/measure-scale.ts'
import { summarize } from './summary.ts'

const repository = join(import.meta.dirname, '..')
const say = (line: string): void => console.log(line)
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error('Called off')))

try {
  const [first, ...others] = process.argv.slice(2)
  process.exitCode = first === 'scale' ? await runScale(others) : await run(readPlan(process.argv.slice(2)))
} catch (error) {
  const reason: unknown = stop.signal.aborted ? stop.signal.reason : error
  const isPlain = reason instanceof PlanError || stop.signal.aborted
  console.error(reason instanceof Error && isPlain ? reason.message : reason)
  process.exitCode = 1
}

async function runScale(args: string[]): Promise<number> {
  await using setup = await openSetup(join(repository, '.data', 'bench'), say)
  say(machineSentence(describeMachine(setup.mongodVersion)))
  await measureScale(setup, args, say)
  return 0
}

async function run({ effort, phases, publishes }: Plan): Promise<number> {
  await using setup = await openSetup(join(repository, '.data', 'bench'), say)
  const machine = describeMachine(setup.mongodVersion)
  say(machineSentence(machine))
  const results: PhaseResult[] = []
  for (const phase of phases)
    results.push(await runPhase({ setup, phase, effort, calibrate, say, signal: stop.signal }))
  const summary = summarize(results)
  const at = new Date()
  const measured = results.map(({ phase, rounds }) => ({ rows: phase.rows.map(({ name }) => name), rounds }))
  const { goals, basis, broken, lost } = summary
  const stored = { at: at.toISOString(), machine, effort, goals, basis, broken, measured }
  const folder = join(repository, publishes ? 'bench/results' : '.data/bench-results')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${at.toISOString().slice(0, 19).replaceAll(':', '')}.json`)
  writeFileSync(file, `${JSON.stringify(stored, null, 2)}\n`)
  if (publishes) {
    const document = join(repository, 'docs/explanation/performance.md')
    writeFileSync(document, replaceFigures(readFileSync(document, 'utf8'), reportFigures(summary, at, machine)))
    writeFileSync(join(repository, 'docs/explanation/performance.svg'), drawRatios(summary))
  }
  for (const line of [...reportLines(summary), '', `Every figure: ${file}`]) say(line)
  return lost === 0 && broken.length === 0 ? 0 : 1
}
