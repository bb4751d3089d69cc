import { relative } from 'node:path'
import type { TestCase, TestModule, TestProject, TestSuite } from 'vitest/node'

/** What failed: a test, or a hook of a suite or file, or a file that cannot be loaded. */
export interface Failure {
  /** Undefined if the error belongs to no file. */
  readonly entity?: TestModule | TestSuite | TestCase
  readonly errors: readonly unknown[]
}

/** How a failure is described. */
export interface FailureFormat {
  readonly root: string
  /** Shows an error, and names the line of the repository where it occurred. */
  readonly format: (
    error: unknown,
    project: TestProject | undefined,
  ) => { readonly output: string; readonly nearest: { readonly file: string; readonly line: number } | undefined }
  /** What a test printed. */
  readonly printedBy: (id: string) => string
}

/** All that failed in a run, in the order of its files. Errors that belong to no test are the last. */
export function findFailures(modules: readonly TestModule[], stray: readonly unknown[]): Failure[] {
  const entities = modules.flatMap((module) => [module, ...module.children.allSuites(), ...module.children.allTests()])
  const failed = entities.map((entity) => ({ entity, errors: errorsOf(entity) }))
  return [...failed.filter(({ errors }) => errors.length > 0), ...stray.map((error) => ({ errors: [error] }))]
}

function errorsOf(entity: TestModule | TestSuite | TestCase): readonly unknown[] {
  if (entity.type !== 'test') return entity.errors()
  const result = entity.result()
  if (result.state === 'pending') return [new Error('It did not end')]
  return result.state === 'failed' ? result.errors : []
}

/** The lines about a failure: where, why, and the command that runs it alone. */
export function describeFailure({ entity, errors }: Failure, { root, format, printedBy }: FailureFormat): string[] {
  const formatted = errors.map((error) => format(error, entity?.project))
  const outputs = formatted.map(({ output }) => output.trim())
  const places = formatted.flatMap(({ nearest }) =>
    nearest ? [` (${relative(root, nearest.file)}:${nearest.line})`] : [],
  )
  if (entity === undefined) return [`✗ outside the tests${places[0] ?? ''}`, ...outputs, '']
  const file = relative(root, entity.type === 'module' ? entity.moduleId : entity.module.moduleId)
  const name = entity.type === 'module' ? undefined : entity.fullName
  const printed = printedBy(entity.id).trimEnd()
  return [
    `✗ ${[file, name].filter(Boolean).join(' > ')}${places[0] ?? ''}`,
    ...outputs,
    ...(printed === '' ? [] : [`It printed:\n${printed}`]),
    `Alone: ${commandFor(file, name)}`,
    '',
  ]
}

/** The command that runs a file, or one test or suite of it. */
function commandFor(file: string, name?: string): string {
  if (name === undefined) return `npm test -- ${file}`
  // The name is a pattern inside quotes of the shell.
  const pattern = name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll("'", "'\\''")
  return `npm test -- ${file} -t '${pattern}'`
}
