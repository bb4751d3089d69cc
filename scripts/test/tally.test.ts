import { describe, expect, it } from 'vitest'
import type { TestModule } from 'vitest/node'
import { NOT_TO_BE_HAD } from '../tools/find-tool.ts'
import { addTallies, countFiles, countTests, describeTally, refuseSkipped } from './tally.ts'

const NO_ENGINE = 'a Docker engine is missing'
const tests = { passed: 7, failed: 0, skipped: new Map([[NO_ENGINE, { tests: 2, files: 0 }]]) }
const others = { passed: 3, failed: 0, skipped: new Map() }
const files = countFiles(new Map([[NO_ENGINE, ['a.test.ts']]]))

describe('the closing lines of npm test', () => {
  it('say why tests and files were skipped, then only the counts', () => {
    expect(describeTally(addTallies(others, tests, files))).toEqual([
      'Skipped 1 file and 2 tests: a Docker engine is missing',
      '10 passed, 0 failed, 3 skipped',
    ])
  })

  it('count as failed what CI must not skip', () => {
    const reason = `${NOT_TO_BE_HAD}Maven cannot fetch it`
    const excused = { ...others, skipped: new Map([[reason, { tests: 1, files: 0 }]]) }
    const { tally, refused } = refuseSkipped(addTallies(tests, files, excused))
    expect([...refused, ...describeTally(tally)]).toEqual([
      'CI skips nothing that can be had, but 1 file and 2 tests: a Docker engine is missing',
      'Skipped 1 test: not to be had here: Maven cannot fetch it',
      '10 passed, 3 failed, 1 skipped',
    ])
  })
})

describe('the tests of a run', () => {
  const test = (fullName: string, state: string, note?: string) => ({
    fullName,
    options: { mode: 'run' },
    result: () => ({ state, note }),
  })
  const moduleOf = (all: readonly object[], errors: readonly object[] = []) =>
    ({ errors: () => errors, children: { allSuites: () => [], allTests: () => all } }) as unknown as TestModule

  it('are counted, and so are files that failed, errors outside of tests, and tests that did not end', () => {
    const all = [test('one', 'passed'), test('two', 'failed'), test('three', 'pending')]
    const modules = [moduleOf(all), moduleOf([test('four', 'skipped')], [{}])]
    expect(countTests(modules, 1)).toEqual({
      passed: 1,
      failed: 4,
      skipped: new Map([['what prepares it failed', { tests: 1, files: 0 }]]),
    })
  })

  it('are not counted if a pattern leaves them out', () => {
    const all = [test('one', 'skipped', NO_ENGINE), test('two', 'skipped')]
    expect(countTests([moduleOf(all)], 0, /one/).skipped).toEqual(new Map([[NO_ENGINE, { tests: 1, files: 0 }]]))
  })
})
