import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeMachine, machineSentence } from '../measure/machine.ts'
import { type OpenSetup, openSetup } from '../open-setup.ts'
import { PlanError } from '../plan.ts'
import { measureInFlight } from './in-flight/measure-in-flight.ts'
import { type ClaimFigures, measureClaims } from './measure-claims.ts'
import { type IdleFigures, measureIdle } from './measure-idle.ts'
import { readScalePlan, type ScalePlan } from './scale-plan.ts'
import { deriveCosts } from './simulation/derive-costs.ts'
import { MEASURED, type Measured } from './simulation/measured.ts'
import { checkTable, simulationTable } from './simulation/tables.ts'
import { claimsTable, idleTable, inFlightTable, wholeTable } from './tables.ts'
import { measureWhole, type WholeFigures } from './whole/measure-whole.ts'

const say = (line: string): void => console.log(line)
const show = (lines: readonly string[]): void => say(`\n${lines.join('\n')}\n`)

try {
  const plan = readScalePlan(process.argv.slice(2))
  if (plan.simulate) simulateAll()
  else await measureAll(plan)
} catch (error) {
  process.stderr.write(`${error instanceof PlanError ? error.message : error instanceof Error ? error.stack : error}\n`)
  process.exitCode = 1
}

function simulateAll(): void {
  const costs = deriveCosts(MEASURED)
  say(`Measured on ${MEASURED.day}: ${MEASURED.machine}`)
  show(checkTable(costs, MEASURED.whole))
  show(simulationTable(costs))
}

async function measureAll(plan: ScalePlan): Promise<void> {
  const folder = join(import.meta.dirname, '..', '..', '.data', 'bench-scale')
  await using setup = await openSetup({ folder, env: process.env, say, nodeFlags: [] })
  const machine = machineSentence(describeMachine(setup.mongodVersion))
  say(machine)
  const parts = new Set(plan.parts)
  if (parts.has('claims')) await showClaims(setup, plan)
  const idle = parts.has('idle') ? await showIdle(setup, plan) : MEASURED.idle
  const whole = parts.has('whole') ? await showWhole(setup, plan) : MEASURED.whole
  const inFlight = parts.has('in-flight') ? await measureInFlight(setup, plan.inFlight) : MEASURED.inFlight
  if (parts.has('in-flight')) show(inFlightTable(inFlight))
  if (plan.save) save({ day: new Date().toISOString().slice(0, 10), machine, whole, idle, inFlight })
}

async function showClaims(setup: OpenSetup, { processes, events }: ScalePlan): Promise<void> {
  const rows: (ClaimFigures & { readonly processes: number })[] = []
  for (const count of processes) {
    rows.push({ processes: count, ...(await measureClaims(setup, { processes: count, events })) })
    say(`claims, ${count} processes: done`)
  }
  show(claimsTable(rows))
}

async function showIdle(setup: OpenSetup, { processes, seconds }: ScalePlan): Promise<readonly IdleFigures[]> {
  const rows: IdleFigures[] = []
  for (const count of processes) {
    rows.push(await measureIdle(setup, { processes: count, seconds }))
    say(`idle, ${count} gateways: done`)
  }
  show(idleTable(rows))
  return rows
}

async function showWhole(setup: OpenSetup, plan: ScalePlan): Promise<readonly WholeFigures[]> {
  const rows: WholeFigures[] = []
  for (const gateways of plan.processes) {
    rows.push(...(await measureWhole(setup, { ...plan, gateways })))
    say(`whole, ${gateways} gateways: done`)
  }
  rows.sort((one, other) => one.perSecond - other.perSecond)
  show(wholeTable(rows))
  return rows
}

function save(measured: Measured): void {
  const path = join(import.meta.dirname, 'simulation', 'measured.json')
  writeFileSync(path, `${JSON.stringify(measured, null, 2)}\n`)
  say(`Stored. npm run fix writes the tables of docs/scaling.md.`)
}
