import { describe, expect, it } from 'vitest'
import type { TestCase, TestModule, TestSpecification } from 'vitest/node'
import { describeGroup, describeProgress, type GroupState, Progress } from './progress.ts'

const group = (name: string, more: Partial<GroupState> = {}): GroupState => ({
  ...{ name, files: 4, ended: 0, passed: 0, failed: 0, skipped: 0 },
  ...more,
})

describe('the line about what runs', () => {
  it('says how far it is, and what is left', () => {
    const unit = group('unit', { ended: 2, passed: 30, failed: 1, startedAt: 1_000 })
    const done = group('first', { startedAt: 0, endedAt: 900 })
    expect(describeProgress([done, unit, group('http'), group('system')], 8_000, 5)).toBe(
      '  unit ██████████░░░░░░░░░░ 2 of 4 files, 35 passed, 1 failed, 7 s, then 8 files in 2 groups',
    )
  })

  it('says how a group ended', () => {
    const ended = group('unit', { passed: 30, skipped: 2, startedAt: 1_000, endedAt: 9_000 })
    expect(describeGroup(ended)).toBe('✓ unit: 30 passed, 2 skipped, 4 files, 8 s')
    expect(describeGroup({ ...ended, failed: 1 })).toBe('✗ unit: 30 passed, 1 failed, 2 skipped, 4 files, 8 s')
  })
})

describe('the progress of a run', () => {
  const project = { name: 'unit', config: { sequence: { groupOrder: 1 } } }
  const all: TestCase[] = []
  const module = {
    project,
    moduleId: '/project/a.test.ts',
    errors: () => [],
    children: { allSuites: () => [], allTests: () => all },
  } as unknown as TestModule
  const test = (fullName: string, state: string, duration = 1) =>
    ({
      id: fullName,
      fullName,
      module,
      result: () => ({ state }),
      diagnostic: () => ({ duration }),
    }) as unknown as TestCase
  const run = (verbose: boolean) => {
    const written: string[] = []
    all.splice(0, all.length, test('one', 'passed'), test('two', 'failed', 12_000))
    const screen = {
      root: '/project',
      write: (text: string) => written.push(text),
      columns: undefined,
      pattern: undefined,
    }
    const progress = new Progress({ ...screen, verbose })
    const specification = { project } as unknown as TestSpecification
    progress.onTestRunStart([specification, specification])
    progress.onTestModuleQueued(module)
    progress.onUserConsoleLog({ content: 'good', taskId: 'one' })
    progress.onTestCaseResult(test('one', 'passed'))
    progress.onUserConsoleLog({ content: 'bad', taskId: 'two' })
    progress.onTestCaseResult(test('two', 'failed', 12_000))
    progress.onTestModuleEnd(module)
    progress.onTestModuleEnd({
      ...module,
      children: { allSuites: () => [], allTests: () => [] },
    } as unknown as TestModule)
    progress.onTestRunEnd()
    return { progress, written }
  }

  it('names only what failed or was slow, and keeps what a failed test printed', () => {
    const { progress, written } = run(false)
    expect(written).toEqual(['✗ a.test.ts > two\n', '✗ unit: 1 passed, 1 failed, 2 files, 0 s\n'])
    expect(progress.slow).toEqual(['12 s: a.test.ts > two'])
    expect([progress.printedBy('one'), progress.printedBy('two')]).toEqual(['', 'bad'])
  })

  it('names every test if it is asked to, and shows what they print', () => {
    expect(run(true).written.slice(0, 4)).toEqual([
      'good\n',
      '✓ a.test.ts > one (1 ms)\n',
      'bad\n',
      '✗ a.test.ts > two\n',
    ])
  })
})
