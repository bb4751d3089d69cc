import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { TestModule } from 'vitest/node'

/** The result of a test, for programs. */
interface ResultRow {
  readonly file: string
  readonly group: string
  /** The full name. Null for what failed or was skipped as a whole file or suite. */
  readonly name: string | null
  readonly state: 'passed' | 'failed' | 'skipped'
  readonly ms: number
  /** The first line of the first error, or why it was skipped. */
  readonly reason?: string
}

/** One row for each test, for each file or suite that failed outside its tests, and for each file that was skipped. */
export function resultRows(
  root: string,
  modules: readonly TestModule[],
  skipped: ReadonlyMap<string, readonly string[]>,
): ResultRow[] {
  const ofFiles = [...skipped].flatMap(([reason, files]) =>
    files.map((file) => ({ file, group: '', name: null, state: 'skipped' as const, ms: 0, reason })),
  )
  return [...modules.flatMap((module) => rowsOf(module, relative(root, module.moduleId))), ...ofFiles]
}

function rowsOf(module: TestModule, file: string): ResultRow[] {
  const common = { file, group: module.project.name }
  const broken = [module, ...module.children.allSuites()].flatMap((part): ResultRow[] => {
    const reason = firstLine(part.errors())
    return reason === undefined ? [] : [{ ...common, name: null, state: 'failed', ms: 0, reason }]
  })
  const tests = Array.from(module.children.allTests(), (test): ResultRow => {
    const result = test.result()
    const state = result.state === 'pending' ? 'failed' : result.state
    const reason = result.state === 'skipped' ? result.note : firstLine(result.errors ?? [])
    const ms = Math.round(test.diagnostic()?.duration ?? 0)
    return { ...common, name: test.fullName, state, ms, ...(reason === undefined ? {} : { reason }) }
  })
  return [...broken, ...tests]
}

function firstLine(errors: readonly { readonly message: string }[]): string | undefined {
  return errors[0] && stripVTControlCharacters(errors[0].message).split('\n', 1)[0]
}
