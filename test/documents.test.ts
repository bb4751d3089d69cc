import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ErrorSpec, toAppError } from '@oncehook/kernel/http/errors'
import { describe, expect, it } from 'vitest'

const repository = resolve(import.meta.dirname, '..')

/** The status of every code of every error catalogue: whatever module declares errors. */
async function readCatalogues(): Promise<Map<string, number>> {
  const internal = toAppError(undefined)
  const statuses = new Map([[internal.code, internal.status]])
  for (const path of globSync('packages/*/src/**/*.ts', { cwd: repository, exclude: ['**/*.test.ts'] })) {
    if (!readFileSync(join(repository, path), 'utf8').includes('= defineError(')) continue
    const module = (await import(pathToFileURL(join(repository, path)).href)) as Record<string, unknown>
    for (const exported of Object.values(module)) {
      const { code, status, message } = exported as ErrorSpec & { code?: string }
      if (code !== undefined && message !== undefined) statuses.set(code, status)
    }
  }
  return statuses
}

describe('docs/reference/errors.md', () => {
  it('lists every code with its status, and no others', async () => {
    const text = readFileSync(join(repository, 'docs/reference/errors.md'), 'utf8')
    const rows = text.matchAll(/^\| `(\w+)` \| (\d{3}) \| .+ \|$/gm)
    const listed = Array.from(rows, ([, code, status]) => [code, Number(status)])
    const declared = [...(await readCatalogues())]
    expect(listed.toSorted()).toEqual(declared.toSorted())
  })

  it('explains every code that the gateway gives to an attempt of a handler', () => {
    const text = readFileSync(join(repository, 'docs/reference/errors.md'), 'utf8')
    const sources = globSync('packages/gateway/src/handlers/*.ts', {
      ...{ cwd: repository, exclude: ['**/*.test.ts'] },
    })
    const given = sources.flatMap((path) => {
      const found = readFileSync(join(repository, path), 'utf8').matchAll(/'((?:handler|body)_\w+)'/g)
      return Array.from(found, ([, code = '']) => code)
    })
    const codes = [...new Set(given)].toSorted()
    expect(codes.length).toBeGreaterThanOrEqual(5)
    const explained = new Set(Array.from(text.matchAll(/^- `(\w+)`[^:\n]*:/gm), ([, code]) => code))
    expect(codes.filter((code) => !explained.has(code))).toEqual([])
  })
})

describe('docs/reference/handlers.md', () => {
  it('has in "Any language" the SQL and the limits of the examples, which other tests kill', () => {
    const read = (path: string) => readFileSync(join(repository, path), 'utf8')
    const [, section = ''] = read('docs/reference/handlers.md').split('\n## Any language\n')
    const blocks = Array.from(
      section.split('\n## ')[0]?.matchAll(/^```sql\n(.*?)^```$/gms) ?? [],
      ([, sql = '']) => sql,
    )
    const statements = blocks.flatMap((sql) => sql.trim().split(/;\n?/)).filter((statement) => statement !== '')
    expect(statements).toHaveLength(3)
    const example = `${read('examples/go-postgres/schema.sql')}${read('examples/go-postgres/main.go')}`
    expect(statements.filter((statement) => !example.includes(statement))).toEqual([])
    expect(section).toContain('more than 1,572,864: answer 413')
    for (const path of ['go-postgres/main.go', 'python-fastapi/main.py']) {
      expect(read(`examples/${path}`)).toMatch(/max_?bytes = 1_572_864$/im)
    }
  })
})

describe('docs/explanation/failure-modes.md', () => {
  const page = readFileSync(join(repository, 'docs/explanation/failure-modes.md'), 'utf8')
  const tables = Array.from(page.matchAll(/(?:^\|.+\n)+/gm), ([table]) => table.trimEnd().split('\n'))
  const cellsOf = (row: string) => row.slice(2, -2).split(' | ')
  const proofsOf = (row: string) => cellsOf(row).at(-1)?.split(', ') ?? []
  const ids: readonly string[] =
    readFileSync(join(repository, 'docs/explanation/faults.md'), 'utf8').match(/FP-\d\d/g) ?? []

  it('names for each row an id of a fault or a test file', () => {
    expect(tables.length).toBeGreaterThan(4)
    expect(tables.filter(([header = '']) => !header.endsWith(' | test |'))).toEqual([])
    const isProof = (name: string) =>
      ids.includes(name) || (/^`.+\.test\.ts`$/.test(name) && existsSync(join(repository, name.slice(1, -1))))
    const unproved = tables.flatMap((rows) => rows.slice(2)).filter((row) => !proofsOf(row).every(isProof))
    expect(unproved.map((row) => [cellsOf(row)[0], ...proofsOf(row)])).toEqual([
      ['TLS files of `MONGODB_URI` are rotated', 'none'],
    ])
  })
})

describe('SECURITY.md and docs/explanation/security.md', () => {
  const rowsOf = (path: string) => readFileSync(join(repository, path), 'utf8').match(/^\| .+ \|$/gm) ?? []

  it('name for every threat a test that is there, or say that it is not met yet', () => {
    const threats = rowsOf('SECURITY.md').slice(1)
    expect(threats.length).toBeGreaterThan(15)
    expect(threats.filter((row) => !/\.test\.ts`|\| not met yet/.test(row))).toEqual([])
  })

  it('give for every requirement its state, with evidence or a reason', () => {
    const rows = rowsOf('docs/explanation/security.md').filter((row) => /^\| (\d+\.\d+\.\d+|\d+)/.test(row))
    expect(rows.length).toBeGreaterThan(60)
    const without = rows.filter((row) => !/^\| [^|]+ \| (met|not met|partly|n\.a\.) \| .{10,} \|$/.test(row))
    expect(without).toEqual([])
    const unexplained = rows.filter((row) => /\| (not met|partly|n\.a\.) \|/.test(row) && !/because/.test(row))
    expect(unexplained).toEqual([])
  })

  it('leave out no requirement of levels 1 and 2', () => {
    // How many requirements of these levels each section of ASVS 5.0 has. They come first in each section.
    const sections = `1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.1:0 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2 4.1:3 4.2:1 4.3:2 4.4:4
      5.1:1 5.2:3 5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 8.2:3 8.3:1 8.4:1
      9.1:3 9.2:4 10.1:2 10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4 11.5:1 11.6:1 12.1:3 12.2:2 12.3:4
      13.1:1 13.2:5 13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7 16.1:1 16.2:5 16.3:4 16.4:3 16.5:3 17.1:1 17.2:4 17.3:2`
    const required = sections.split(/\s+/).flatMap((one) => {
      const [section = '', count] = one.split(':')
      return Array.from({ length: Number(count) }, (_, index) => `${section}.${index + 1}`)
    })
    const listed = rowsOf('docs/explanation/security.md').flatMap((row) => {
      const [, ids = ''] = /^\| ((?:[\d.]+(?: to |, )?)+) /.exec(row) ?? []
      return ids.split(', ').flatMap(expandRange)
    })
    const isListed = (id: string) => listed.some((one) => id === one || id.startsWith(`${one}.`))
    expect(required.length).toBeGreaterThan(200)
    expect(required.filter((id) => !isListed(id))).toEqual([])
  })

  it.each(['SECURITY.md', 'docs/explanation/security.md'])('%s names only files that are there', (path) => {
    const text = readFileSync(join(repository, path), 'utf8')
    const named = Array.from(
      text.matchAll(/`([\w.-]+\/[\w./-]+\.(?:ts|mjs|yaml|yml|conf|sh|json|md))`/g),
      ([, file = '']) => file,
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((file) => !existsSync(join(repository, file)))).toEqual([])
  })
})

describe('a document', () => {
  const documents = globSync(['*.md', '{docs,bench,contracts,docker,packages,examples,test}/**/*.md'], {
    ...{ cwd: repository, exclude: ['**/node_modules/**'] },
  })

  it('links only to files and headings that are there', () => {
    expect(documents.length).toBeGreaterThan(12)
    expect(documents.flatMap(deadLinks)).toEqual([])
  })

  it('is named by the index', () => {
    const index = readFileSync(join(repository, 'docs/README.md'), 'utf8')
    const links = Array.from(index.matchAll(/\]\((?!https?:)([^)#\s]+)/g), ([, link = '']) => join('docs', link))
    const itself = ['docs/README.md', 'CHANGELOG.md']
    expect(documents.filter((path) => !itself.includes(path) && !links.includes(path))).toEqual([])
  })
})

describe('docs/images/console', () => {
  const FOLDER = 'docs/images/console'
  const MAX_BYTES = 80_000

  it('has only pictures that a document shows, and each is small', () => {
    const pictures = readdirSync(join(repository, FOLDER))
    expect(pictures.length).toBeGreaterThan(8)
    const shown = ['README.md', 'docs/reference/console.md']
      .map((path) => readFileSync(join(repository, path), 'utf8'))
      .join('\n')
    expect(pictures.filter((name) => !shown.includes(`images/console/${name}`))).toEqual([])
    expect(pictures.filter((name) => statSync(join(repository, FOLDER, name)).size > MAX_BYTES)).toEqual([])
  })
})

/** The ids from `10.4 to 10.7`, or the id itself. */
function expandRange(range: string): string[] {
  const [first = '', last] = range.split(' to ')
  if (last === undefined) return [first]
  const start = first.split('.')
  const [from, to] = [Number(start.pop()), Number(last.split('.').at(-1))]
  return Array.from({ length: to - from + 1 }, (_, index) => [...start, from + index].join('.'))
}

function deadLinks(document: string): string[] {
  const links = readFileSync(join(repository, document), 'utf8').matchAll(
    /(?:\]\(|\b(?:src|srcset)=")(?!https?:)([^)"\s]+)[)"]/g,
  )
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
