import { describe, expect, it } from 'vitest'
import { NOT_TO_BE_HAD } from '../tools/find-tool.ts'
import { addTallies, countFiles, describeTally, refuseSkipped } from './tally.ts'

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
