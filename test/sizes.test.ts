import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const repository = resolve(import.meta.dirname, '..')

const MAX_LINES = 300
const MAX_TEST_LINES = 700
const MAX_FILES = 15
const REASON = /^(?:This folder|`src\/`) has more than 15 files because .+/m

const isTest = (file: string): boolean => /\.test\.[cm]?tsx?$/.test(file)
const files = globSync('{packages,scripts,test,bench,contracts,docker,examples}/**/*.{ts,tsx,mjs,cjs}', {
  cwd: repository,
  exclude: ['**/node_modules/**', '**/dist/**'],
})

it('no file is too long', () => {
  expect(files.length).toBeGreaterThan(500)
  const long = files.filter((file) => {
    const lines = readFileSync(join(repository, file), 'utf8').trimEnd().split('\n').length
    return lines > (isTest(file) ? MAX_TEST_LINES : MAX_LINES)
  })
  expect(long).toEqual([])
})

it('no folder has too many files besides tests, except those whose README gives the reason', () => {
  const counts = new Map<string, number>()
  for (const file of files.filter((one) => !isTest(one))) {
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  }
  const large = [...counts].filter(([, count]) => count > MAX_FILES).map(([folder]) => folder)
  expect(large.filter((folder) => !givesReason(folder)).toSorted()).toEqual([])
})

/** Whether a folder's README says why the folder has more files than allowed. That of `src` is the package's README. */
function givesReason(folder: string): boolean {
  const readme = join(repository, basename(folder) === 'src' ? dirname(folder) : folder, 'README.md')
  return existsSync(readme) && REASON.test(readFileSync(readme, 'utf8'))
}
