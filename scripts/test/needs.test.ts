import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, matchesGlob, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LONG, NEEDS, toolsOf } from './needs.ts'

const repository = resolve(import.meta.dirname, '../..')
const tests = globSync(['test/**/*.test.ts', 'packages/*/src/**/*.test.ts', '{bench,contracts,scripts}/**/*.test.ts'], {
  cwd: repository,
  exclude: ['**/node_modules/**'],
})

const FINDER = 'scripts/tools/find-tool.ts'

/** The files that a file imports, from the root of the repository, and the tools that it asks for. */
const read = memoized((file: string) => {
  const source = readFileSync(join(repository, file), 'utf8')
  const imports = Array.from(source.matchAll(/ from '([^']+)'/g), ([, from = '']) => {
    const [, name, path] = /^@oncehook\/(\w+)\/testing\/(.+)$/.exec(from) ?? []
    if (name !== undefined) return `packages/${name}/src/testing/${path}.ts`
    return from.startsWith('.') ? join(file, '..', from) : ''
  })
  const tools = Array.from(source.matchAll(/\b(?:find|require|missing)Tool\('([\w-]+)'/g), ([, tool = '']) => tool)
  return {
    imports: imports.filter((path) => path.endsWith('.ts') && path !== FINDER && existsSync(join(repository, path))),
    tools,
  }
})

/** The tools that a test asks for, itself or through its helpers. Tests of the benchmarks start none of them. */
function toolsUsedBy(test: string): string[] {
  const files = new Set([test])
  for (const file of files) for (const imported of read(file).imports) files.add(imported)
  return [...files].filter((file) => !file.startsWith('bench/')).flatMap((file) => read(file).tools)
}

describe('what test files need', () => {
  it('is all in the table', () => {
    const unnamed = tests.flatMap((test) => {
      const named: readonly string[] = toolsOf([test])
      return toolsUsedBy(test).flatMap((tool) => (named.includes(tool) ? [] : [`${test} uses ${tool}`]))
    })
    expect(unnamed).toEqual([])
  })

  it('is what files need that exist', () => {
    const globs = [...NEEDS, ...LONG].map(({ files }) => files)
    expect(globs.filter((glob) => !tests.some((test) => matchesGlob(test, glob)))).toEqual([])
  })

  it('is asked for by tests that skip themselves', () => {
    const unused = NEEDS.filter(({ partly }) => partly).flatMap(({ files, tools }) => {
      const used = new Set(tests.filter((test) => matchesGlob(test, files)).flatMap(toolsUsedBy))
      return tools.flatMap((tool) => (used.has(tool) ? [] : [`${tool} by ${files}`]))
    })
    expect(unused).toEqual([])
  })
})

function memoized<T>(read: (file: string) => T): (file: string) => T {
  const known = new Map<string, T>()
  return (file) => {
    const value = known.get(file) ?? read(file)
    known.set(file, value)
    return value
  }
}
