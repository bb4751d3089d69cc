import { parseArgs } from 'node:util'
import type { Setup } from '../receivers/receiver.ts'
import { markdownTable } from '../tables.ts'
import { measureClaims } from './measure-claims.ts'
import { measureIdle } from './measure-idle.ts'

/** Measures what several gateways cost on one database: a backlog that they share, and their commands while idle. */
export async function measureScale(setup: Setup, args: string[], say: (line: string) => void): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      processes: { type: 'string', default: '1,2,4,8' },
      events: { type: 'string', default: '20000' },
      seconds: { type: 'string', default: '20' },
    },
  })
  const counts = values.processes.split(',').map(Number)
  const claims = [['processes', 'claims/s', 'examined per claim', 'wasted, %', 'smallest share, %', 'largest, %']]
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
    const figures = [commands, gatewayUs / 1_000, mongodUs / 1_000].map((figure) => figure.toFixed(1))
    idle.push([String(processes), ...figures])
  }
  say(markdownTable(idle).join('\n'))
}
