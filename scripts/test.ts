import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseCLI, startVitest } from 'vitest/node'
import { checks, runChecks } from './check/run-checks.ts'
import { addTallies, countSkippedAsFailed, countTests, describeTally, type Tally } from './test/tally.ts'

const repository = resolve(import.meta.dirname, '..')
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const args = process.argv.slice(2)

const SLOW_ROWS: Readonly<Record<string, string>> = {
  'test/fault/!(kill).fault.test.ts': 'rows of faults, minutes long: npm run test:fault',
  'test/container/*.fault.test.ts': 'faults of containers, minutes long: npm test -- test/container',
}

const checked = args.length === 0 ? await check() : undefined // a filtered run only runs tests
// Fault tests wait for leases, time-outs and elections. That takes minutes, so only CI and filtered runs include them.
const exclusions = Object.keys(SLOW_ROWS).map((rows) => `--exclude=${rows}`)
const unhurried = args.length > 0 || Boolean(process.env.CI)
const tested = unhurried ? await test(args) : addTallies(await test(exclusions), slowRowsSkipped())
const sum = checked ? addTallies(checked, tested) : tested
const tally = process.env.CI ? countSkippedAsFailed(sum) : sum
say(`Took ${Math.round(performance.now() / 1_000)} s`)
for (const line of describeTally(tally)) say(line)
process.exit(tally.failed > 0 ? 1 : 0) // do not wait for handles that a test left open

function slowRowsSkipped(): Tally {
  const reasons = new Map(
    Object.entries(SLOW_ROWS).map(([rows, reason]) => [reason, globSync(rows, { cwd: repository }).length] as const),
  )
  return { passed: 0, failed: 0, skipped: [...reasons.values()].reduce((sum, count) => sum + count, 0), reasons }
}

async function check(): Promise<Tally> {
  const results = await runChecks(repository, checks({ fix: false }), say)
  const passed = results.filter((result) => result.passed).length
  return { passed, failed: results.length - passed, skipped: 0, reasons: new Map() }
}

async function test(filtersAndOptions: readonly string[]): Promise<Tally> {
  const { filter, options } = parseCLI(['vitest', 'run', ...filtersAndOptions], { allowUnknownOptions: false })
  const vitest = await startVitest('test', filter, { ...options, root: repository, watch: false })
  try {
    const tally = countTests(vitest.state.getTestModules(), vitest.state.getUnhandledErrors().length)
    return process.exitCode && tally.failed === 0 ? { ...tally, failed: 1 } : tally // no test began, or none was found
  } finally {
    await vitest.close()
  }
}
