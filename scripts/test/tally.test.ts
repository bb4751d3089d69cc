import { describe, expect, it } from 'vitest'
import type { TestModule } from 'vitest/node'
import { addTallies, countSkippedAsFailed, countTests, describeTally, NOT_TO_BE_HAD } from './tally.ts'

const tests = {
  passed: 7,
  failed: 0,
  skipped: 3,
  reasons: new Map([
    ['no Docker engine answers', 2],
    ['marked so', 1],
  ]),
}
const checks = { passed: 3, failed: 0, skipped: 0, reasons: new Map<string, number>() }

describe('the closing lines of npm test', () => {
  it('say why tests were skipped, then only the counts', () => {
    expect(describeTally(addTallies(checks, tests))).toEqual([
      'Skipped 2 tests: no Docker engine answers',
      'Skipped 1 test: marked so',
      '10 passed, 0 failed, 3 skipped',
    ])
  })

  it('count skipped tests as failed if CI is set', () => {
    expect(describeTally(countSkippedAsFailed(tests))).toEqual([
      'Failed, because CI is set and nothing may be skipped: 2 tests: no Docker engine answers',
      'Failed, because CI is set and nothing may be skipped: 1 test: marked so',
      '7 passed, 3 failed, 0 skipped',
    ])
  })

  it('count tests as skipped, even if CI is set, if this machine cannot get what they need', () => {
    const reason = `${NOT_TO_BE_HAD}Maven cannot fetch it`
    const withOneMore = { ...tests, skipped: 4, reasons: new Map([...tests.reasons, [reason, 1]]) }
    expect(describeTally(countSkippedAsFailed(withOneMore))).toEqual([
      'Failed, because CI is set and nothing may be skipped: 2 tests: no Docker engine answers',
      'Failed, because CI is set and nothing may be skipped: 1 test: marked so',
      'Skipped 1 test: not to be had here: Maven cannot fetch it',
      '7 passed, 3 failed, 1 skipped',
    ])
  })

  it('name the tests that passed only when they were repeated', () => {
    const once = { ...checks, repeated: ['one that waits (a.test.ts): expected 1 to be 2'] }
    expect(describeTally(addTallies(once, checks))).toEqual([
      'Passed only when it was repeated: one that waits (a.test.ts): expected 1 to be 2',
      '6 passed, 0 failed, 0 skipped',
    ])
  })
})

describe('the tests of a run', () => {
  const errors = (message: string) => [{ message: `${message}\nat line 1` }]
  const flaky = (fullName: string, message = 'expected 1 to be 2') => ({
    fullName,
    module: { relativeModuleId: 'a.test.ts' },
    result: () => ({ state: 'passed', errors: errors(message) }),
    diagnostic: () => ({ flaky: true }),
  })
  const moduleOf = (tests: readonly object[]) =>
    ({
      errors: () => [],
      children: { allSuites: () => [], allTests: () => tests },
    }) as unknown as TestModule

  it('may pass when they are repeated, if they are few', () => {
    expect(countTests([moduleOf(['one', 'two', 'three'].map((name) => flaky(name)))], 0)).toMatchObject({
      passed: 3,
      failed: 0,
      repeated: ['one', 'two', 'three'].map((name) => `${name} (a.test.ts): expected 1 to be 2`),
    })
    const five = ['1', '2', '3', '4', '5'].map((name) => flaky(name))
    expect(countTests([moduleOf(five)], 0)).toMatchObject({ passed: 3, failed: 2 })
  })

  it('fail if a property had a counterexample', () => {
    expect(countTests([moduleOf([flaky('one', 'Property failed after 7 tests')])], 0)).toMatchObject({
      passed: 0,
      failed: 1,
    })
  })
})
