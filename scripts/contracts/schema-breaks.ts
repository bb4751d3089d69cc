// What a caller would miss if a provider of internal procedures changed from one description to another. A caller may send what
// the recorded inputs allow, members that they do not know included, and rely on what the recorded outputs promise.
import { isDeepStrictEqual } from 'node:util'
import type { FulfilmentDescription } from './describe-fulfilment.ts'

type Schema = Readonly<Record<string, unknown>>

interface Pair {
  /** What one side writes by, and what the other one reads by. The caller's is the recorded one. */
  readonly written: Schema
  readonly read: Schema
  readonly path: string
  /** The caller writes it. */
  readonly isInput: boolean
}

const MOST = ['maxLength', 'maxItems', 'maxProperties', 'maximum', 'exclusiveMaximum']
const LEAST = ['minLength', 'minItems', 'minProperties', 'minimum', 'exclusiveMinimum']
/** Nobody can tell which of two of them takes more. */
const RULES = ['format', 'contentEncoding', 'not']

const ANY_NAME = { type: 'string' }

/** The breaks, as sentences that name the procedure and the member. */
export function schemaBreaks(
  was: FulfilmentDescription,
  now: FulfilmentDescription,
  [taken, given] = ['input', 'output'],
): string[] {
  const procedures = Object.entries(was.procedures).flatMap(([name, { kind, input, output }]) => {
    const other = now.procedures[name]
    if (other === undefined) return [`${name} is gone`]
    const [asked, answered] = [`${name}: ${taken}`, `${name}: ${given}`]
    return [
      ...(other.kind === kind ? [] : [`${name} is no ${kind} any more`]),
      ...misfits({ written: input as Schema, read: other.input as Schema, path: asked, isInput: true }),
      ...misfits({ written: other.output as Schema, read: output as Schema, path: answered, isInput: false }),
    ]
  })
  const errors = Object.entries(was.errors).flatMap(([code, { status, retry }]) => {
    const other = now.errors[code]
    if (other === undefined) return [`the error ${code} is gone`]
    return other.status === status && other.retry === retry ? [] : [`the error ${code} has another status or retry`]
  })
  return [...procedures, ...errors]
}

/** Why a value that one side writes may be none that the other one reads. */
function misfits(pair: Pair): string[] {
  const { written, read, path, isInput } = pair
  const isOther = isInput && 'default' in written && !isDeepStrictEqual(written.default, read.default)
  const readers = branchesOf(read)
  const found = branchesOf(written).flatMap((one) =>
    fewest(readers.map((other) => branchMisfits({ ...pair, written: one, read: other }))),
  )
  return [...(isOther ? [`${path} has another default`] : []), ...new Set(found)]
}

/** The alternatives of a schema, down to its single values and types. */
function branchesOf(schema: Schema): readonly Schema[] {
  const { anyOf, oneOf, enum: values, ...rest } = schema
  const parts = (anyOf ?? oneOf) as Schema[] | undefined
  if (parts !== undefined) return parts.flatMap(branchesOf)
  if (Array.isArray(values)) return values.map((value) => ({ ...rest, const: value }))
  return Array.isArray(rest.type) ? rest.type.map((type) => ({ ...rest, type })) : [schema]
}

function fewest(lists: readonly string[][]): string[] {
  return lists.reduce((best, list) => (list.length < best.length ? list : best))
}

function branchMisfits(pair: Pair): string[] {
  const { written, read, path, isInput } = pair
  const isInteger = written.type === 'integer' && read.type === 'number'
  if (read.type !== undefined && read.type !== written.type && !isInteger)
    return [isInput ? `${path} must be ${read.type}` : `${path} is ${written.type ?? 'anything'}, not ${read.type}`]
  if ('const' in read || 'const' in written) return constantMisfits(pair)
  return [...limitMisfits(pair), ...memberMisfits(pair), ...inner(pair).flatMap(misfits)]
}

function constantMisfits({ written, read, path, isInput }: Pair): string[] {
  if (!('const' in written)) return [`${path} ${isInput ? 'takes fewer values' : 'can have any value'}`]
  if (!('const' in read) || isDeepStrictEqual(written.const, read.const)) return []
  const value = JSON.stringify(written.const)
  return [isInput ? `${path} takes no ${value} any more` : `${path} can be ${value}`]
}

function limitMisfits({ written, read, path, isInput }: Pair): string[] {
  const isOther = (name: string): boolean => name in read && !isDeepStrictEqual(written[name], read[name])
  const limits = [
    ...MOST.filter((limit) => Number(written[limit] ?? Number.POSITIVE_INFINITY) > Number(read[limit])),
    ...LEAST.filter((limit) => Number(written[limit] ?? Number.NEGATIVE_INFINITY) < Number(read[limit])),
    // A format has a pattern, whose text is that of the library.
    ...['format' in read ? [] : ['pattern'], RULES].flat().filter(isOther),
  ]
  return limits.map((limit) => `${path} has a ${isInput ? 'stricter' : 'looser'} ${limit}`)
}

const namesIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
const membersOf = ({ properties }: Schema): Readonly<Record<string, Schema>> =>
  (properties ?? {}) as Record<string, Schema>

/** What is in the first list only. */
function without(list: readonly string[], others: readonly string[]): readonly string[] {
  return list.filter((one) => !others.includes(one))
}

/** A caller ignores the members of an answer that it does not know. */
function memberMisfits({ written, read, path, isInput }: Pair): string[] {
  const needs = isInput ? 'needs' : 'may lack'
  const needed = without(namesIn(read.required), namesIn(written.required)).map((name) => `${path} ${needs} ${name}`)
  if (!isInput) return needed
  const isClosed = read.additionalProperties === false
  const gone = without(Object.keys(membersOf(written)), Object.keys(membersOf(read)))
  return [
    ...needed,
    ...gone.map((name) => `${path} ${isClosed ? 'refuses' : 'does not read'} ${name}`),
    ...(isClosed && written.additionalProperties !== false
      ? [`${path} is closed to members that it does not know`]
      : []),
  ]
}

/** The members of an object by their names, all others of it and their names, and the element of a list, on both sides. */
function inner({ written, read, path, isInput }: Pair): Pair[] {
  const [one, other] = [membersOf(written), membersOf(read)]
  const pairs = [
    ...Object.keys(one).map((name) => [one[name], other[name], `.${name}`] as const),
    [written.additionalProperties, read.additionalProperties, '.*'] as const,
    [written.propertyNames ?? ANY_NAME, read.propertyNames, '.*'] as const,
    [written.items, read.items, '[]'] as const,
  ]
  return pairs.flatMap(([writes, reads, step]) =>
    typeof writes === 'object' && typeof reads === 'object'
      ? [{ written: writes as Schema, read: reads as Schema, path: `${path}${step}`, isInput }]
      : [],
  )
}
