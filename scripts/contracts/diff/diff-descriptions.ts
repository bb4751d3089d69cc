import { compareSchemas, type Direction } from '../compare-schemas.ts'
import type { DescribedProcedure, FulfilmentDescription } from '../describe-fulfilment.ts'
import { errorProblems } from '../error-problems.ts'
import type { JsonSchema } from '../json-schema.ts'
import { flattenSchema, type Rules } from './flatten-schema.ts'

/** A difference between two versions of a provider, as its callers see it. */
export interface Change {
  readonly kind: 'added' | 'changed' | 'removed'
  /** A procedure, a place in its input or output, or an error code. */
  readonly what: string
  /** Which rules of a schema changed, and how. Empty for everything else. */
  readonly rules?: readonly string[]
  /** Why it breaks callers of the earlier version. Empty if it breaks none. */
  readonly breaks: readonly string[]
}

/**
 * Lists what a provider added, changed and removed. `compareSchemas` decides whether a change breaks callers, as for
 * the releases. If a whole object came or went, its properties are not listed.
 */
export function diffDescriptions(before: FulfilmentDescription, now: FulfilmentDescription): Change[] {
  const names = union(before.procedures, now.procedures)
  const procedures = names.flatMap((name) => diffProcedures(name, before.procedures[name], now.procedures[name]))
  const codes = union(before.errors, now.errors)
  return [...procedures, ...codes.flatMap((code) => diffCodes(code, before.errors, now.errors))]
}

function union(before: object, now: object): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(now)])]
}

function diffProcedures(name: string, before?: DescribedProcedure, now?: DescribedProcedure): Change[] {
  if (before === undefined) return [{ kind: 'added', what: name, breaks: [] }]
  if (now === undefined) return [{ kind: 'removed', what: name, breaks: ['the procedure is gone'] }]
  if (before.kind !== now.kind) {
    return [{ kind: 'changed', what: name, breaks: [`it was a ${before.kind}, is a ${now.kind}`] }]
  }
  return (['input', 'output'] as const).flatMap((direction) =>
    diffSchemas(direction, before[direction], now[direction]).map((change) => ({
      ...change,
      what: `${name}, ${direction} ${change.what}`,
    })),
  )
}

function diffSchemas(direction: Direction, before: JsonSchema, now: JsonSchema): Change[] {
  const [earlier, later] = [flattenSchema(before), flattenSchema(now)]
  const breaks = Map.groupBy(compareSchemas(direction, before, now), ({ path }) => path)
  const paths = [...new Set([...earlier.keys(), ...later.keys(), ...breaks.keys()])]
  const changes = paths.flatMap((path): Change[] => {
    const [then, today] = [earlier.get(path), later.get(path)]
    const problems = (breaks.get(path) ?? []).map(({ problem }) => problem)
    if (then === undefined) return [{ kind: 'added', what: path, breaks: problems }]
    if (today === undefined) return [{ kind: 'removed', what: path, breaks: problems }]
    const rules = changedRules(then, today)
    return rules.length + problems.length === 0 ? [] : [{ kind: 'changed', what: path, rules, breaks: problems }]
  })
  return changes.filter((change) => change.breaks.length > 0 || !isPartOfAnother(change, changes))
}

function changedRules(before: Rules, now: Rules): string[] {
  const changed = union(before, now).filter((rule) => before[rule] !== now[rule])
  return changed.map((rule) => `${rule} was ${before[rule] ?? 'not set'}, is ${now[rule] ?? 'not set'}`)
}

/** Whether the object that it is in came or went as a whole. */
function isPartOfAnother({ kind, what }: Change, changes: readonly Change[]): boolean {
  return changes.some(
    (other) =>
      other.kind === kind &&
      kind !== 'changed' &&
      /^[.[,]/.test(what.slice(other.what.length)) &&
      what.startsWith(other.what),
  )
}

function diffCodes(
  code: string,
  before: FulfilmentDescription['errors'],
  now: FulfilmentDescription['errors'],
): Change[] {
  const what = `the code ${code}`
  const earlier = before[code]
  if (earlier === undefined) return [{ kind: 'added', what, breaks: [] }]
  const breaks = errorProblems(code, earlier, now).map((problem) => problem.replace(`${what} `, ''))
  if (breaks.length === 0) return []
  return [{ kind: now[code] === undefined ? 'removed' : 'changed', what, breaks }]
}
