// Measures what several gateways cost on one database: a backlog that they share, and their commands while idle.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, machineSentence } from '../measure/machine.ts'
import { openSetup } from '../open-setup.ts'
import { markdownTable } from '../report/tables.ts'
import { measureClaims } from './measure-claims.ts'
import { measureIdle } from './measure-idle.ts'

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '1,2,4,8' },
    events: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '20' },
  },
})
const counts = values.processes.split(',').map(Number)
const say = (line: string): void => console.log(line)
const folder = join(import.meta.dirname, '..', '..', '.data', 'bench-scale')
await using setup = await openSetup({ folder, env: process.env, say, nodeFlags: [] })
say(machineSentence(describeMachine(setup.mongodVersion)))

const claims = [
  ['processes', 'claims/s', 'examined per claim', 'wasted searches, %', 'smallest share, %', 'largest, %'],
]
for (const processes of counts) {
  const measured = await measureClaims(setup, { processes, events: Number(values.events) })
  const { claimsPerSecond, examinedPerClaim, wastedPercent, shares } = measured
  const figures = [examinedPerClaim, wastedPercent, ...shares].map((figure) => figure.toFixed(1))
  claims.push([String(processes), claimsPerSecond.toFixed(0), ...figures])
}
say(`\n${markdownTable(claims).join('\n')}\n`)

const idle = [['idle gateways', 'commands/s', 'processor ms/s of all gateways', 'processor ms/s of MongoDB']]
for (const processes of counts) {
  const { commands, gatewayUs, mongodUs } = await measureIdle(setup, { processes, seconds: Number(values.seconds) })
  idle.push([String(processes), ...[commands, gatewayUs / 1_000, mongodUs / 1_000].map((figure) => figure.toFixed(1))])
}
say(markdownTable(idle).join('\n'))
