import { isDeepStrictEqual } from 'node:util'
import { isOfType, type JsonSchema, listedValues, type Variant, variantsOf } from './json-schema.ts'

/** The direction of values. Callers of the old version write inputs that we read, and read outputs that we write. */
export type Direction = 'input' | 'output'

/** A change of a schema that breaks callers of the old version: where it is, and what it is. */
export interface Break {
  readonly path: string
  readonly problem: string
}

interface Pair<Schema = Variant> {
  readonly direction: Direction
  /** What the writer may write. */
  readonly writes: Schema
  /** What the reader accepts. */
  readonly reads: Schema
  readonly path: string
}

/**
 * Finds what a change of a schema breaks. An input may become less strict. An output may become stricter, and may gain
 * properties, because readers ignore properties that they do not know. Every other change is reported.
 */
export function compareSchemas(direction: Direction, before: JsonSchema, now: JsonSchema): Break[] {
  const [writes, reads] = direction === 'input' ? [before, now] : [now, before]
  return compare({ direction, writes, reads, path: '$' })
}

function compare({ direction, writes, reads, path }: Pair<JsonSchema>): Break[] {
  const readable = variantsOf(reads)
  return variantsOf(writes).flatMap((variant) => {
    const candidates = readable.map((candidate) =>
      compareVariants({ direction, writes: variant, reads: candidate, path }),
    )
    // Of several alternatives, the closest one explains the break best.
    return candidates.toSorted((a, b) => a.length - b.length || rank(a) - rank(b))[0] ?? []
  })
}

/** A change of type says less than a change of a property. */
function rank([first]: readonly Break[]): number {
  return first?.problem.includes(' type ') ? 1 : 0
}

function compareVariants(pair: Pair): Break[] {
  const { direction, writes, reads, path } = pair
  if (!isOfType(writes.type, reads.type)) {
    return [{ path, problem: `${PLACE[direction]} of type ${writes.type ?? 'any'} ${REFUSED[direction]}` }]
  }
  return [
    ...compareValues(pair),
    ...compareTexts(pair),
    ...compareLimits(pair),
    ...compareMembers(pair),
    ...inside(pair),
  ]
}

const PLACE = { input: 'an input', output: 'an output' } as const
const REFUSED = { input: 'is no longer taken', output: 'is new to readers' } as const

function compareValues({ direction, writes, reads, path }: Pair): Break[] {
  const taken = listedValues(reads)
  if (taken === null) return []
  const written = listedValues(writes)
  if (written === null)
    return [
      {
        path,
        problem: `any value where ${list(taken)} ${direction === 'input' ? 'are taken now' : 'were given before'}`,
      },
    ]
  const surplus = written.filter((value) => !taken.some((one) => isDeepStrictEqual(one, value)))
  if (surplus.length === 0) return []
  const change = direction === 'input' ? 'narrowed enum: no longer taken' : 'widened enum: new to readers'
  return [{ path, problem: `${change}: ${list(surplus)}` }]
}

function list(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ')
}

function compareTexts({ direction, writes, reads, path }: Pair): Break[] {
  return (['pattern', 'format'] as const).flatMap((rule) => {
    if (reads[rule] === undefined || reads[rule] === writes[rule]) return []
    const change = direction === 'input' ? 'is required now' : 'is promised no longer'
    return [{ path, problem: `the ${rule} ${reads[rule]} ${change}` }]
  })
}

const LOWER = ['minimum', 'minLength', 'minItems'] as const
const UPPER = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const

function compareLimits({ direction, writes, reads, path }: Pair): Break[] {
  const isBelow = (a: number | undefined, b: number | undefined) => b !== undefined && (a === undefined || a < b)
  const lower = LOWER.filter((limit) => isBelow(writes[limit], reads[limit]))
  const upper = UPPER.filter((limit) => reads[limit] !== undefined && (writes[limit] ?? Infinity) > reads[limit])
  const change = direction === 'input' ? 'is required now' : 'is promised no longer'
  return [...lower, ...upper].map((limit) => ({ path, problem: `${limit} ${reads[limit]} ${change}` }))
}

function compareMembers(pair: Pair): Break[] {
  const { direction, writes, reads, path } = pair
  const written = writes.properties ?? {}
  const known = reads.properties ?? {}
  const missing = (reads.required ?? []).filter((name) => !(writes.required ?? []).includes(name))
  const demanded = missing.map((name) => ({ path: `${path}.${name}`, problem: sayMissing(direction, written, name) }))
  const surplus = direction === 'input' ? Object.keys(written).filter((name) => !isTaken(reads, name)) : []
  const gone =
    direction === 'output' ? Object.keys(known).filter((name) => !isTaken(writes, name) && !missing.includes(name)) : []
  const removed = [...surplus, ...gone].map((name) => ({ path: `${path}.${name}`, problem: 'removed member' }))
  const shared = Object.entries(written).flatMap(([name, schema]) => {
    const reader = known[name]
    return reader === undefined ? [] : compare({ direction, writes: schema, reads: reader, path: `${path}.${name}` })
  })
  return [...demanded, ...removed, ...shared]
}

function sayMissing(direction: Direction, written: object, name: string): string {
  if (direction === 'input') return 'new required member'
  return Object.hasOwn(written, name) ? 'a member that was always there may be left out' : 'removed member'
}

function isTaken({ properties = {}, additionalProperties = true }: Variant, name: string): boolean {
  return Object.hasOwn(properties, name) || additionalProperties !== false
}

/** Compares the items of arrays, and the names and values of records. */
function inside({ direction, writes, reads, path }: Pair): Break[] {
  const pairs = [
    { writes: writes.items, reads: reads.items, path: `${path}[]` },
    { writes: valuesOf(writes), reads: valuesOf(reads), path: `${path}.*` },
    { writes: writes.propertyNames, reads: reads.propertyNames, path: `${path}, a name` },
  ]
  return pairs.flatMap((pair) =>
    pair.reads === undefined
      ? []
      : compare({ direction, writes: pair.writes ?? {}, reads: pair.reads, path: pair.path }),
  )
}

function valuesOf({ additionalProperties }: Variant): JsonSchema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}
