import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { describeMachine, machineSentence } from '../measure/machine.ts'
import { openSetup } from '../open-setup.ts'
import { PlanError } from '../plan.ts'
import { type ConsolePlan, readConsolePlan } from './console-plan.ts'
import { type ConsoleRound, consoleReport } from './console-report.ts'
import { type ConsoleSystem, startConsoleSystem } from './console-system.ts'
import { filterSteps } from './filter-steps.ts'
import { visitPage } from './visit.ts'

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update']
const FOLLOW_MS = 5_000
// A visit should be over by then. If not, it ends without new events.
const LOAD_SECONDS = 30

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error('Called off')))

try {
  await run(readConsolePlan(process.argv.slice(2)))
} catch (error) {
  const reason: unknown = stop.signal.aborted ? stop.signal.reason : error
  const stack = reason instanceof Error && !(reason instanceof PlanError) && !stop.signal.aborted ? reason.stack : null
  process.stderr.write(`${stack ?? (reason instanceof Error ? reason.message : reason)}\n`)
  process.exitCode = 1
}

async function run({ events, perSecond, rounds }: ConsolePlan): Promise<void> {
  const say = (line: string): void => console.log(line)
  const folder = join(import.meta.dirname, '../../.data/bench-console')
  await using setup = await openSetup({ folder, env: process.env, say, nodeFlags: [] })
  say(machineSentence(describeMachine(setup.mongodVersion)))
  say(`Storing ${events.toLocaleString('en')} events …`)
  await using system = await startConsoleSystem(setup, { events, signal: stop.signal })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS })
  await using _closing = { [Symbol.asyncDispose]: () => browser.close() }
  say(`Chromium ${browser.version()}. It shares the processor with the gateway, MongoDB and the sender.`)
  const measured: ConsoleRound[] = []
  for (let round = 1; round <= rounds; round += 1) {
    stop.signal.throwIfAborted()
    const one = await measureRound(system, browser, perSecond)
    measured.push(one)
    say(`round ${round} of ${rounds}: first rows after ${Math.round(one.visit.firstRowsMs)} ms`)
  }
  for (const line of ['', ...consoleReport(measured)]) say(line)
}

async function measureRound(system: ConsoleSystem, browser: Browser, perSecond: number): Promise<ConsoleRound> {
  const load = await system.prepare(perSecond, LOAD_SECONDS)
  const link = await system.signInLink()
  const offered = load.send()
  try {
    const visit = await visitPage(browser, { link, filters: filterSteps(system.known), followMs: FOLLOW_MS })
    load.cut()
    return { visit, offered: await offered }
  } finally {
    load.cut()
    await offered
  }
}
