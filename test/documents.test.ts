import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ErrorSpec, toAppError } from '@oncehook/kernel/errors'
import { describe, expect, it } from 'vitest'

const repository = resolve(import.meta.dirname, '..')

/** Every entry of every error catalogue: whatever module declares errors. */
async function readCatalogues(): Promise<Map<string, { status: number; says: string }>> {
  const { code, status, message: says } = toAppError(undefined)
  const entries = new Map([[code, { status, says }]])
  for (const path of globSync('packages/*/src/**/*.ts', { cwd: repository, exclude: ['**/*.test.ts'] })) {
    if (!readFileSync(join(repository, path), 'utf8').includes('= defineError(')) continue
    const module = (await import(pathToFileURL(join(repository, path)).href)) as Record<string, unknown>
    for (const exported of Object.values(module)) {
      const { code, status, says } = exported as ErrorSpec & { code?: string }
      if (code !== undefined && says !== undefined) entries.set(code, { status, says })
    }
  }
  return entries
}

describe('docs/errors.md', () => {
  it('lists every code with its status and its sentence, and none that does not exist', async () => {
    const text = readFileSync(join(repository, 'docs/errors.md'), 'utf8')
    const rows = text.matchAll(/^\| `(\w+)` \| (\d{3}) \| (.+?) \| .+ \|$/gm)
    const listed = Array.from(rows, ([, code, status, says]) => [code, { status: Number(status), says }])
    const declared = [...(await readCatalogues())]
    expect(listed.toSorted()).toEqual(declared.toSorted())
  })
})

describe('docs/failure-modes.md', () => {
  it('names for every fault, in their order, the test files in which its id stands', () => {
    const text = readFileSync(join(repository, 'docs/failure-modes.md'), 'utf8')
    const rows = Array.from(text.matchAll(/^\| (FP-\d\d) \| .+ \| (`.+`) \|$/gm), ([, id = '', files = '']) => ({
      id,
      files: Array.from(files.matchAll(/`([^`]+)`/g), ([, file = '']) => file),
    }))
    expect(rows.length).toBeGreaterThanOrEqual(30)
    const ids = rows.map((_, index) => `FP-${String(index + 1).padStart(2, '0')}`)
    expect(rows.map(({ id }) => id)).toEqual(ids)
    const isIn = (id: string, file: string) => readFileSync(join(repository, file), 'utf8').includes(id)
    const missing = rows.flatMap(({ id, files }) => files.filter((file) => !isIn(id, file)).map((file) => [id, file]))
    expect(missing).toEqual([])
  })
})

describe('a document', () => {
  it('links only to files and headings that are there', () => {
    const documents = globSync(['*.md', 'docs/*.md', '{bench,contracts,docker}/**/*.md', 'packages/*/*.md'], {
      cwd: repository,
    })
    expect(documents.length).toBeGreaterThan(12)
    expect(documents.flatMap(deadLinks)).toEqual([])
  })
})

function deadLinks(document: string): string[] {
  const links = readFileSync(join(repository, document), 'utf8').matchAll(/\]\((?!https?:)([^)\s]+)\)/g)
  return Array.from(links, ([, link = '']) => link)
    .filter((link) => {
      const [path = '', heading] = link.split('#')
      const target = path === '' ? join(repository, document) : join(repository, dirname(document), path)
      if (!existsSync(target)) return true
      return heading !== undefined && !headingsOf(target).includes(heading)
    })
    .map((link) => `${document}: ${link}`)
}

/** The anchors that a renderer makes of headings: lower case, no punctuation, a hyphen for each blank. */
function headingsOf(path: string): string[] {
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)
  return Array.from(headings, ([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
