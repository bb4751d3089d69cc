import type { TestCase, TestModule, TestSuite } from 'vitest/node'

/** How many tests and checks passed, failed and were skipped, and why. */
export interface Tally {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Why tests were skipped -> how many for that reason. */
  readonly reasons: ReadonlyMap<string, number>
  /** Why skipped tests count as failed -> how many for that reason. Default: none do. */
  readonly refused?: ReadonlyMap<string, number>
}

/** Even CI may skip a test whose reason begins like this: no registry that this machine reaches has what it needs. */
export const NOT_TO_BE_HAD = 'not to be had here: '

/**
 * Counts the tests that vitest ran. A file or group that failed outside its tests counts as one failed test. So does
 * each error that belongs to no test. Passed tests cannot hide such failures.
 */
export function countTests(modules: readonly TestModule[], strayErrors: number): Tally {
  const count = { passed: 0, failed: strayErrors, skipped: 0 }
  const reasons = new Map<string, number>()
  for (const module of modules) {
    const groups: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()]
    count.failed += groups.filter((group) => group.errors().length > 0).length
    for (const test of module.children.allTests()) {
      const result = test.result()
      count[result.state === 'pending' ? 'failed' : result.state] += 1 // pending: the run ended before the test did
      if (result.state !== 'skipped') continue
      const reason = result.note ?? reasonOf(test)
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    }
  }
  return { ...count, reasons }
}

/** Why a test was skipped, if it gives no reason itself. */
function reasonOf({ options }: TestCase): string {
  return options.mode === 'run' ? 'what prepares it failed' : 'marked so in the source'
}

/** The sum of two tallies. */
export function addTallies(a: Tally, b: Tally): Tally {
  const reasons = new Map(a.reasons)
  for (const [reason, count] of b.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + count)
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped, reasons }
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
export function describeTally({ passed, failed, skipped, reasons, refused = new Map() }: Tally): string[] {
  return [
    ...describeReasons('Failed, because CI is set and nothing may be skipped:', refused),
    ...describeReasons('Skipped', reasons),
    `${passed} passed, ${failed} failed, ${skipped} skipped`,
  ]
}

function describeReasons(verb: string, reasons: ReadonlyMap<string, number>): string[] {
  return [...reasons].map(([reason, count]) => `${verb} ${count} ${count === 1 ? 'test' : 'tests'}: ${reason}`)
}
