import type { TestCase, TestModule } from 'vitest/node'
import { NOT_TO_BE_HAD } from '../tools/find-tool.ts'

/** How many tests, and how many whole files, were skipped for a reason. */
interface SkippedCount {
  readonly tests: number
  readonly files: number
}

/** How many tests and checks passed, failed and were skipped, and why. */
export interface Tally {
  readonly passed: number
  readonly failed: number
  readonly skipped: ReadonlyMap<string, SkippedCount>
}

/**
 * Counts the tests that vitest ran. A file or group that failed outside its tests counts as one failed test. So does
 * each error that belongs to no test. With a pattern, tests whose names do not match are not counted.
 */
export function countTests(modules: readonly TestModule[], strayErrors: number, pattern?: RegExp): Tally {
  const groups = modules.flatMap((module) => [module, ...module.children.allSuites()])
  const broken = groups.filter((group) => group.errors().length > 0).length
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const reasons = tests.filter((test) => test.result().state === 'skipped' && isWanted(test, pattern)).map(whySkipped)
  const count = (...states: string[]): number => tests.filter((test) => states.includes(test.result().state)).length
  return {
    passed: count('passed'),
    // A test that is still pending did not end before the run did.
    failed: strayErrors + broken + count('failed', 'pending'),
    skipped: new Map(
      Array.from(
        Map.groupBy(reasons, (reason) => reason),
        ([reason, all]) => [reason, { tests: all.length, files: 0 }],
      ),
    ),
  }
}

/** Counts files that were skipped as a whole. */
export function countFiles(skipped: ReadonlyMap<string, readonly string[]>): Tally {
  const counts = Array.from(skipped, ([reason, files]) => [reason, { tests: 0, files: files.length }] as const)
  return { passed: 0, failed: 0, skipped: new Map(counts) }
}

/** Whether a test was to run: with a pattern, those that do not match are skipped, and nobody asks why. */
export function isWanted({ fullName }: TestCase, pattern: RegExp | undefined): boolean {
  return pattern?.test(fullName) ?? true
}

function whySkipped(test: TestCase): string {
  const result = test.result()
  if ('note' in result && result.note !== undefined) return result.note
  return test.options.mode === 'run' ? 'what prepares it failed' : 'marked so in the source'
}

/** The sum of tallies. */
export function addTallies(...tallies: readonly Tally[]): Tally {
  const skipped = new Map<string, SkippedCount>()
  for (const [reason, { tests, files }] of tallies.flatMap((tally) => [...tally.skipped])) {
    const before = skipped.get(reason) ?? { tests: 0, files: 0 }
    skipped.set(reason, { tests: before.tests + tests, files: before.files + files })
  }
  const sum = (field: 'passed' | 'failed'): number => tallies.reduce((total, tally) => total + tally[field], 0)
  return { passed: sum('passed'), failed: sum('failed'), skipped }
}

/** The closing lines: what was skipped and why, then the counts alone on the last line. */
export function describeTally({ passed, failed, skipped }: Tally): string[] {
  return [
    ...[...skipped].map(([reason, count]) => `Skipped ${describeCount(count)}: ${reason}`),
    `${passed} passed, ${failed} failed, ${countSkipped(skipped)} skipped`,
  ]
}

/** What CI refuses: what was skipped, although a registry that this machine reaches has what it needs. It counts as failed. */
export function refuseSkipped(tally: Tally): { readonly tally: Tally; readonly refused: readonly string[] } {
  const [excused = [], refused = []] = [true, false].map((wanted) =>
    [...tally.skipped].filter(([reason]) => reason.startsWith(NOT_TO_BE_HAD) === wanted),
  )
  const failed = tally.failed + countSkipped(new Map(refused))
  return {
    tally: { ...tally, failed, skipped: new Map(excused) },
    refused: refused.map(
      ([reason, count]) => `CI skips nothing that can be had, but ${describeCount(count)}: ${reason}`,
    ),
  }
}

/** How many tests and files were skipped, whatever the reason. */
export function countSkipped(skipped: ReadonlyMap<string, SkippedCount>): number {
  return [...skipped.values()].reduce((sum, { tests, files }) => sum + tests + files, 0)
}

function describeCount({ tests, files }: SkippedCount): string {
  const some = (count: number, noun: string): string[] =>
    count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}`]
  return [...some(files, 'file'), ...some(tests, 'test')].join(' and ')
}
