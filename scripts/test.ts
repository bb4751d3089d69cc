// Runs tests. Arguments are vitest's, and two of our own: --verbose names each test, --json FILE writes all results.
import { writeFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { createVitest, parseCLI, type TestRunResult, type TestSpecification, type Vitest } from 'vitest/node'
import { findMongod } from './mongod/find-mongod.ts'
import { describeFailure, type Failure, type FailureFormat, findFailures } from './test/failures.ts'
import { type ChosenFiles, toolsOf, withoutLong, withTools } from './test/needs.ts'
import { Progress, plural, seconds } from './test/progress.ts'
import { resultRows } from './test/result-rows.ts'
import { addTallies, countFiles, countTests, describeTally, refuseSkipped, type Tally } from './test/tally.ts'
import { findTools } from './tools/find-tool.ts'

const MOST_SLOW = 20
const root = resolve(import.meta.dirname, '..')
const args = process.argv.slice(2)
const verbose = takeFlag('--verbose') !== undefined
const jsonFile = takeFlag('--json', 1)
const { filter, options } = parseCLI(['vitest', 'run', ...args], { allowUnknownOptions: false })
const isWhole = filter.length === 0 && options.project === undefined && options.testNamePattern === undefined

const pattern = options.testNamePattern === undefined ? undefined : new RegExp(options.testNamePattern)

const progress = new Progress({
  root,
  verbose,
  pattern,
  write: (text) => void process.stdout.write(process.stdout.isTTY ? text : stripVTControlCharacters(text)),
  columns: process.stdout.isTTY ? process.stdout.columns : undefined,
})
const say = (line: string): void => progress.say(line)

say('Reading the test files, and looking for MongoDB and what else they need …')
const [vitest] = await Promise.all([
  createVitest('test', { ...options, root, watch: false, reporters: [progress] }, undefined, {
    ...{ stdout: progress.output, stderr: progress.output },
  }),
  prepareMongod(),
])
const tally = await test(vitest).finally(() => vitest.close())
const { tally: final, refused } = process.env.CI ? refuseSkipped(tally) : { tally, refused: [] }
for (const line of [...refused, `Took ${seconds(performance.now())}`, ...describeTally(final)]) say(line)
process.exit(final.failed > 0 ? 1 : 0) // do not wait for handles that a test left open

/** Takes a flag of our own out of the arguments, with its value. */
function takeFlag(name: string, values: 0 | 1 = 0): string | undefined {
  const index = args.indexOf(name)
  return index < 0 ? undefined : args.splice(index, 1 + values).at(-1)
}

/** Almost every test needs a MongoDB server, so nothing begins without one. */
async function prepareMongod(): Promise<void> {
  if (process.env.MONGODB_URI) return
  try {
    await findMongod({ env: process.env, say })
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}`)
    for (const line of describeTally({ passed: 0, failed: 1, skipped: new Map() })) say(line)
    process.exit(1)
  }
}

/** Runs the chosen tests, and says what failed. */
async function test(vitest: Vitest): Promise<Tally> {
  await vitest.standalone()
  const specifications = await vitest.getRelevantTestSpecifications(filter)
  const fileOf = ({ moduleId }: TestSpecification): string => relative(root, moduleId)
  const { run, skipped } = await choose(specifications.map(fileOf))
  const chosen = new Set(run)
  say(`${plural(run.length, 'file')} to test${skipped.size === 0 ? '' : ', and to skip:'}`)
  const left = countFiles(skipped)
  for (const line of describeTally(left).slice(0, -1)) say(`  ${line}`)
  const running = specifications.filter((one) => chosen.has(fileOf(one)))
  const { testModules: modules, unhandledErrors: stray } = await runFiles(vitest, running)
  describeFailures(vitest, findFailures(modules, stray))
  describeTimes()
  if (jsonFile !== undefined) writeFileSync(jsonFile, JSON.stringify(resultRows(root, modules, skipped), null, 1))
  const tested = addTallies(countTests(modules, stray.length, pattern), left)
  // Vitest itself says what failed: no file matches.
  const isBroken = specifications.length === 0 || (process.exitCode && tested.failed === 0)
  if (specifications.length === 0) say(`No test file matches ${filter.join(' ')}`)
  return isBroken ? { ...tested, failed: tested.failed + 1 } : tested
}

async function runFiles(
  vitest: Vitest,
  chosen: TestSpecification[],
): Promise<Pick<TestRunResult, 'testModules' | 'unhandledErrors'>> {
  if (chosen.length === 0) return { testModules: [], unhandledErrors: [] } // to Vitest this is an error
  try {
    return await vitest.runTestSpecifications(chosen, true)
  } catch (error) {
    // What prepares all tests failed.
    return { testModules: vitest.state.getTestModules(), unhandledErrors: [error] }
  }
}

async function choose(files: readonly string[]): Promise<ChosenFiles> {
  const unhurried = isWhole && !process.env.CI ? withoutLong(files) : { run: files, skipped: new Map() }
  const { run, skipped } = withTools(unhurried.run, await findTools(toolsOf(unhurried.run)))
  return { run, skipped: new Map([...unhurried.skipped, ...skipped]) }
}

/** What failed, and how it is run alone. */
function describeFailures({ logger }: Vitest, failures: readonly Failure[]): void {
  if (failures.length > 0) say('\nFailures:')
  const format: FailureFormat = {
    root,
    format: (error, project) => logger.formatError(error, project ? { project } : {}),
    printedBy: (id) => progress.printedBy(id),
  }
  for (const line of failures.flatMap((failure) => describeFailure(failure, format))) say(line)
  const printed = progress.printedBy()
  if (failures.length > 0 && printed !== '') say(`The processes of tests printed at the end:\n${printed}`)
}

/** What took long, and how long each group took. */
function describeTimes(): void {
  for (const line of progress.slow.slice(0, MOST_SLOW)) say(`Slow: ${line}`)
  const times = progress.groups.map(({ name, startedAt, endedAt }) =>
    startedAt === undefined || endedAt === undefined
      ? `${name} did not end`
      : `${name} ${seconds(endedAt - startedAt)}`,
  )
  if (times.length > 0) say(`Time of each group: ${times.join(', ')}`)
}
