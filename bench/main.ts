import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { conclude } from './conclude.ts'
import { describeMachine } from './measure/machine.ts'
import { openLaboratory } from './open-laboratory.ts'
import { conclusionLines } from './report-lines.ts'
import { runSuite, type SuitePlan } from './run-suite.ts'
import { writeResults } from './write-results.ts'

const LAST_ROUND_BEGINS_MS = 150_000 // a round takes 25 s on a quiet machine, and the whole is to end within four minutes
const USAGE = 'Usage: npm run bench -- [--rounds <quiet rounds>] [--seconds <of each measurement>]'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error('Called off')))

try {
  process.exitCode = await run(readPlan())
} catch (error) {
  const reason: unknown = stop.signal.aborted ? stop.signal.reason : error
  process.stderr.write(`${reason instanceof Error ? reason.message : reason}\n`)
  process.exitCode = 1
}

function readPlan(): SuitePlan {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '4' } },
  })
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
  if (!(Number.isInteger(rounds) && rounds > 0 && seconds > 0 && seconds <= 60)) throw new Error(USAGE)
  const effort = { connections: 128, warmUpMs: 1_500, measureMs: seconds * 1_000 }
  return { effort, rounds, lastRoundBeginsMs: LAST_ROUND_BEGINS_MS }
}

async function run(plan: SuitePlan): Promise<number> {
  const say = (line: string): void => console.log(line)
  const folder = join(import.meta.dirname, '..', '.data', 'bench')
  await using laboratory = await openLaboratory({ folder, env: process.env, say, nodeFlags: [] })
  const machine = describeMachine(laboratory.mongodVersion)
  say(Object.values(machine).join(', '))
  const result = await runSuite({ laboratory, plan, say, signal: stop.signal })
  const conclusion = conclude(result, plan.rounds)
  const results = join(import.meta.dirname, 'results')
  const file = writeResults(results, new Date(), { machine, plan, conclusion, ...result })
  for (const line of [...conclusionLines(conclusion), `Every figure: ${file}`]) say(line)
  return conclusion.lost === 0 ? 0 : 1
}
