import { join } from 'node:path'
import { describeMachine, machineSentence } from '../measure/machine.ts'
import { openSetup } from '../open-setup.ts'
import { PlanError } from '../plan.ts'
import { markdownTable } from '../report/tables.ts'
import { measureClaims } from './measure-claims.ts'
import { measureIdle } from './measure-idle.ts'
import { readScalePlan, type ScalePlan } from './scale-plan.ts'

const HEAD = [
  'processes',
  'claims/s',
  'examined per claim',
  'wasted searches, %',
  'smallest share, %',
  'largest share, %',
  'idle commands/s',
]

try {
  await run(readScalePlan(process.argv.slice(2)))
} catch (error) {
  process.stderr.write(`${error instanceof PlanError ? error.message : error instanceof Error ? error.stack : error}\n`)
  process.exitCode = 1
}

async function run({ events, processes, seconds }: ScalePlan): Promise<void> {
  const say = (line: string): void => console.log(line)
  const folder = join(import.meta.dirname, '..', '..', '.data', 'bench-scale')
  await using setup = await openSetup({ folder, env: process.env, say, nodeFlags: [] })
  say(machineSentence(describeMachine(setup.mongodVersion)))
  say(`A backlog of ${events} events; commands of idle gateways during ${seconds} s`)
  const rows: string[][] = [HEAD]
  for (const count of processes) {
    const claims = await measureClaims(setup, { processes: count, events })
    const idle = await measureIdle(setup, { processes: count, seconds })
    const exact = [claims.examinedPerClaim, claims.wastedPercent, ...claims.shares, idle]
    rows.push([String(count), claims.claimsPerSecond.toFixed(0), ...exact.map((figure) => figure.toFixed(1))])
    say(`${count} of ${processes.join(', ')} processes: done`)
  }
  for (const line of markdownTable(rows)) say(line)
}
