import type { TestCase, TestModule } from 'vitest/node'

/** How many tests and checks passed, failed and were skipped, and why. */
export interface Tally {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Why tests were skipped -> how many for that reason. */
  readonly reasons: ReadonlyMap<string, number>
  /** The tests that failed first and passed when they were repeated, each with its first error. Default: none. */
  readonly repeated?: readonly string[]
  /** Why skipped tests count as failed -> how many for that reason. Default: none do. */
  readonly refused?: ReadonlyMap<string, number>
}

/** Even CI may skip a test whose reason begins like this: no registry that this machine reaches has what it needs. */
export const NOT_TO_BE_HAD = 'not to be had here: '

/** How many tests of a run may pass only when they are repeated. If there are more, something is wrong with them. */
const MOST_REPEATED = 3

/** How an error of fast-check begins. A repetition has other inputs, so it proves nothing. */
const COUNTEREXAMPLE = /^Property failed/

/**
 * Counts the tests that vitest ran. A file or group that failed outside its tests counts as one failed test. So does
 * each error that belongs to no test. Passed tests cannot hide such failures.
 */
export function countTests(modules: readonly TestModule[], strayErrors: number): Tally {
  const groups = modules.flatMap((module) => [module, ...module.children.allSuites()])
  const broken = groups.filter((group) => group.errors().length > 0).length
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const states = tests.map(stateOf)
  const count = (state: State): number => states.filter((found) => found === state).length
  const repeated = tests.filter((test) => firstError(test) !== undefined).map(describeRepeated)
  const tooMany = Math.max(0, repeated.length - MOST_REPEATED)
  const failed = strayErrors + broken + count('failed') + tooMany
  return {
    passed: count('passed') - tooMany,
    failed,
    skipped: count('skipped'),
    reasons: countReasons(tests),
    repeated,
  }
}

type State = 'passed' | 'failed' | 'skipped'

function stateOf(test: TestCase): State {
  const { state } = test.result()
  if (state === 'pending') return 'failed' // the run ended before the test did
  return COUNTEREXAMPLE.test(firstError(test) ?? '') ? 'failed' : state
}

function countReasons(tests: readonly TestCase[]): Map<string, number> {
  const reasons = new Map<string, number>()
  for (const test of tests) {
    const result = test.result()
    if (result.state !== 'skipped') continue
    const reason = result.note ?? reasonOf(test)
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  }
  return reasons
}

function describeRepeated(test: TestCase): string {
  return `${test.fullName} (${test.module.relativeModuleId}): ${firstError(test)}`
}

/** The first line of the first error of a test that passed when it was repeated. Otherwise undefined. */
function firstError(test: TestCase): string | undefined {
  if (test.diagnostic()?.flaky !== true) return
  return (test.result().errors?.[0]?.message ?? '').split('\n', 1)[0]
}

/** Why a test was skipped, if it gives no reason itself. */
function reasonOf({ options }: TestCase): string {
  return options.mode === 'run' ? 'what prepares it failed' : 'marked so in the source'
}

/** The sum of two tallies. */
export function addTallies(a: Tally, b: Tally): Tally {
  const reasons = new Map(a.reasons)
  for (const [reason, count] of b.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + count)
  const repeated = [...(a.repeated ?? []), ...(b.repeated ?? [])]
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped, reasons, repeated }
}

/** The tally in CI: a skipped test counts as failed, unless nothing on the machine can provide what it needs. */
export function countSkippedAsFailed(tally: Tally): Tally {
  const isExcused = ([reason]: readonly [string, number]): boolean => reason.startsWith(NOT_TO_BE_HAD)
  const reasons = new Map([...tally.reasons].filter(isExcused))
  const refused = new Map([...tally.reasons].filter((entry) => !isExcused(entry)))
  const skipped = [...reasons.values()].reduce((sum, count) => sum + count, 0)
  return { ...tally, failed: tally.failed + tally.skipped - skipped, skipped, reasons, refused }
}

/** The closing lines: the reasons for skipped tests, then the counts alone on the last line. */
export function describeTally({
  passed,
  failed,
  skipped,
  reasons,
  repeated = [],
  refused = new Map(),
}: Tally): string[] {
  return [
    ...describeReasons('Failed, because CI is set and nothing may be skipped:', refused),
    ...describeReasons('Skipped', reasons),
    ...repeated.map((line) => `Passed only when it was repeated: ${line}`),
    `${passed} passed, ${failed} failed, ${skipped} skipped`,
  ]
}

function describeReasons(verb: string, reasons: ReadonlyMap<string, number>): string[] {
  return [...reasons].map(([reason, count]) => `${verb} ${count} ${count === 1 ? 'test' : 'tests'}: ${reason}`)
}
