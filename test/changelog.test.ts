import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lastRelease } from '../scripts/contracts/release-files.ts'
import { FILES_WITH_VERSION } from '../scripts/release/prepare-release.ts'

const repository = resolve(import.meta.dirname, '..')
const readText = (file: string): string => readFileSync(join(repository, file), 'utf8')

interface Manifest {
  readonly name: string
  readonly version: string
}

const readManifest = (file: string): Manifest => JSON.parse(readText(file)) as Manifest
const { version } = readManifest('package.json')
const packages = globSync('packages/*/package.json', { cwd: repository }).map(readManifest)

describe('the version', () => {
  it('is the same in each package', () => {
    expect(packages.length).toBeGreaterThan(5)
    expect(packages.filter((one) => one.version !== version)).toEqual([])
  })

  it.each(FILES_WITH_VERSION)('is named in %s', (file) => {
    expect(readText(file)).toContain(version)
  })

  it('is the last one with recorded contracts, unless none has any yet', async () => {
    expect([undefined, version]).toContain(await lastRelease(join(repository, 'contracts')))
  })
})

describe('CHANGELOG.md', () => {
  const sections = readText('CHANGELOG.md')
    .trimEnd()
    .split(/\n(?=## )/)
    .slice(1)
  const releases = sections.filter((section, index) => index > 0 || !section.startsWith('## Unreleased\n'))

  it('has a section for each release, the newest first, with a version and a date', () => {
    const headings = releases.map((section) => /^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)\n/.exec(section))
    expect(headings).not.toContain(null)
    expect(headings[0]?.[1]).toBe(version)
    const byVersion = new Intl.Collator('en', { numeric: true }).compare
    for (const part of [1, 2]) {
      const found = headings.map((heading) => heading?.[part] ?? '')
      expect(found).toEqual(found.toSorted(byVersion).toReversed())
    }
  })

  it('lists changes under the three headings only, as sentences', () => {
    for (const section of sections) {
      const lines = section.split('\n').slice(1)
      const form = /^(?:|### (?:Breaking changes|Changes|Fixes)|- [A-Z*`].+| {2}\S.*)$/
      expect(lines.filter((line) => !form.test(line))).toEqual([])
      const items = section
        .trimEnd()
        .split(/\n(?=- )/)
        .slice(1)
      expect(items.filter((item) => !/\.$/.test(item.split('\n\n')[0] ?? ''))).toEqual([])
    }
  })
})

it('each changeset names packages that exist, and says in one paragraph what changes', () => {
  const files = globSync('.changeset/*.md', { cwd: repository }).filter((file) => !file.endsWith('README.md'))
  const entry = new RegExp(`^'(?:${packages.map(({ name }) => name).join('|')})': (?:major|minor|patch)$`)
  const malformed = files.filter((file) => {
    const [, entries = '', summary = ''] = /^---\n(.+?)\n---\n\n(.+)\n$/s.exec(readText(file)) ?? []
    const isParagraph = /^[A-Z*`].+\.$/s.test(summary) && !summary.includes('\n\n')
    return !isParagraph || entries.split('\n').some((line) => !entry.test(line))
  })
  expect(malformed).toEqual([])
})
