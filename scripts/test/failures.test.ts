import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import type { TestModule } from 'vitest/node'
import { commandFor, describeFailure, findFailures } from './failures.ts'

const entity = (type: string, errors: readonly string[], more: object = {}) => ({
  ...{ type, id: type, fullName: `the ${type}`, errors: () => errors, ...more },
  result: () => ({ state: errors.length > 0 ? 'failed' : 'passed', errors }),
})

function moduleOf(errors: readonly string[], suites: readonly object[], tests: readonly object[]): TestModule {
  const children = { allSuites: () => suites, allTests: () => tests }
  return entity('module', errors, { moduleId: '/project/a.test.ts', children }) as unknown as TestModule
}

it('says of each failure where it is, why it failed, and how to run it alone', () => {
  const module = moduleOf(['cannot be loaded'], [], [])
  const suite = entity('suite', ['its hook failed'], { module })
  const test = entity('test', ['1 is not 2'], { module })
  const failures = findFailures([module, moduleOf([], [suite], [test, entity('test', [])])], ['stray'])
  const format = (error: unknown) => ({ output: `\n${error}`, nearest: { file: '/project/b.ts', line: 7 } })
  const printedBy = (id: string): string => (id === 'test' ? 'printed\n' : '')
  expect(failures.flatMap((failure) => describeFailure(failure, { root: '/project', format, printedBy }))).toEqual([
    ...['✗ a.test.ts (b.ts:7)', 'cannot be loaded', 'Alone: npm test -- a.test.ts', ''],
    ...['✗ a.test.ts > the suite (b.ts:7)', 'its hook failed', "Alone: npm test -- a.test.ts -t 'the suite'", ''],
    ...['✗ a.test.ts > the test (b.ts:7)', '1 is not 2', 'It printed:\nprinted'],
    ...["Alone: npm test -- a.test.ts -t 'the test'", ''],
    ...['✗ outside the tests (b.ts:7)', 'stray', ''],
  ])
})

it('says so if a test did not end', () => {
  const test = { ...entity('test', []), result: () => ({ state: 'pending' }) }
  expect(findFailures([moduleOf([], [], [test])], [])).toMatchObject([{ errors: [new Error('It did not end')] }])
})

it('quotes the name of a test for the shell and for the pattern', () => {
  const name = "a suite > it's (1 + 1) of $HOME, `x` [é]?"
  const shell = `set -- ${commandFor('a.test.ts', name)}; printf %s "$6"`
  const pattern = execFileSync('sh', ['-c', shell], { encoding: 'utf8' })
  expect(new RegExp(`^${pattern}$`).test(name)).toBe(true)
})
