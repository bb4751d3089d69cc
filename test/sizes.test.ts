import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const repository = resolve(import.meta.dirname, '..')

const MAX_LINES = 300
const MAX_TEST_LINES = 700
const MAX_FILES = 15
const REASON = /^(?:This folder|`src\/`) has more than 15 files because .+/m

const MAX_FILES_OF_THE_WAY = 14
const MAX_LINES_OF_THE_WAY = 1_400

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

it('the way of one webhook, from the socket to the 200, leads through few files of few lines', () => {
  const way = wayOfAWebhook()
  expect(way.length).toBeGreaterThan(10)
  expect(way.length).toBeLessThanOrEqual(MAX_FILES_OF_THE_WAY)
  const lines = way.map((file) => readFileSync(join(repository, file), 'utf8').trimEnd().split('\n').length)
  expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(MAX_LINES_OF_THE_WAY)
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

/** The files that the README of the gateway names as the steps of a webhook, without the dispatch after the answer. */
function wayOfAWebhook(): string[] {
  const readme = readFileSync(join(repository, 'packages/gateway/README.md'), 'utf8')
  const steps = [...readme.matchAll(/^\| (?:\d+| ) \| (`.+?) \| .+ \|$/gm)].map(([, named = '']) => named)
  const named = steps.flatMap((step) => Array.from(step.matchAll(/`([^`]+\.ts)`/g), ([, file = '']) => file))
  return [...new Set(named)].filter((file) => !file.startsWith('dispatch/')).map(sourceOf)
}

/** The file that a path in a README names. The path begins inside a package, or with the name of the package. */
function sourceOf(named: string): string {
  const places = ['packages/gateway/src', 'packages/webhooks/src']
  const [first = '', ...rest] = named.split('/')
  const possible = [`packages/${first}/src/${rest.join('/')}`, ...places.map((place) => `${place}/${named}`)]
  const [file, ...others] = possible.filter((one) => existsSync(join(repository, one)))
  if (file === undefined || others.length > 0) throw new Error(`${named} is not one file`)
  return file
}
