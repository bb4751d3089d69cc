// What a caller would miss if a provider of internal procedures changed from one description to another. A caller may send what
// the recorded inputs allow, members that they do not know included, and rely on what the recorded outputs require.
import { isDeepStrictEqual } from 'node:util'
import type { FulfilmentDescription, JsonSchema } from './describe-fulfilment.ts'

type Schema = Readonly<Record<string, unknown>>

interface Pair {
  /** What the other side reads or writes by. */
  readonly was: Schema
  readonly now: Schema
  readonly path: string
}

const MOST = ['maxLength', 'maxItems', 'maximum', 'exclusiveMaximum']
const LEAST = ['minLength', 'minItems', 'minimum', 'exclusiveMinimum']

/** The breaks, as sentences that name the procedure and the member. */
export function schemaBreaks(was: FulfilmentDescription, now: FulfilmentDescription): string[] {
  const procedures = Object.entries(was.procedures).flatMap(([name, { kind, input, output }]) => {
    const other = now.procedures[name]
    if (other === undefined) return [`${name} is gone`]
    return [
      ...(other.kind === kind ? [] : [`${name} is no ${kind} any more`]),
      ...inputBreaks(pairOf(input, other.input, `${name}: input`)),
      ...outputBreaks(pairOf(output, other.output, `${name}: output`)),
    ]
  })
  const errors = Object.entries(was.errors).flatMap(([code, { status, retry }]) => {
    const other = now.errors[code]
    if (other === undefined) return [`the error ${code} is gone`]
    return other.status === status && other.retry === retry ? [] : [`the error ${code} has another status or retry`]
  })
  return [...procedures, ...errors]
}

function pairOf(was: JsonSchema, now: JsonSchema, path: string): Pair {
  return { was: was as Schema, now: now as Schema, path }
}

/** The members of an object by their names, or the element of a list, on both sides. */
function inner({ was, now, path }: Pair): Pair[] {
  const [before, after] = [was, now].map(({ properties }) => (properties ?? {}) as Record<string, Schema>)
  const members = Object.entries(before ?? {}).flatMap(([name, schema]) => {
    const other = after?.[name]
    return other === undefined ? [] : [{ was: schema, now: other, path: `${path}.${name}` }]
  })
  if (was.items === undefined || now.items === undefined) return members
  return [...members, { was: was.items as Schema, now: now.items as Schema, path: `${path}[]` }]
}

const namesIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
const membersOf = ({ properties }: Schema): readonly string[] => Object.keys((properties ?? {}) as object)
const branchesOf = (schema: Schema): readonly Schema[] => (schema.anyOf ?? schema.oneOf ?? [schema]) as Schema[]

/** What is in the first list only. */
function without(list: readonly string[], others: readonly string[]): readonly string[] {
  return list.filter((one) => !others.includes(one))
}

function fewest(lists: readonly string[][]): string[] {
  return lists.reduce((best, list) => (list.length < best.length ? list : best))
}

function inputBreaks(pair: Pair): string[] {
  const { was, now, path } = pair
  const [before, after] = [branchesOf(was), branchesOf(now)]
  if (before.length > 1 || after.length > 1) {
    return before.flatMap((one) => fewest(after.map((other) => inputBreaks({ was: one, now: other, path }))))
  }
  return [...valueBreaks(pair), ...memberBreaks(pair), ...inner(pair).flatMap(inputBreaks)]
}

function valueBreaks({ was, now, path }: Pair): string[] {
  const [allowed, values] = [was, now].map((schema) => schema.enum ?? ('const' in schema ? [schema.const] : undefined))
  const isFewer =
    values !== undefined && (allowed === undefined || without(namesIn(allowed), namesIn(values)).length > 0)
  const limits = [
    ...MOST.filter((limit) => Number(now[limit]) < Number(was[limit] ?? Number.POSITIVE_INFINITY)),
    ...LEAST.filter((limit) => Number(now[limit]) > Number(was[limit] ?? Number.NEGATIVE_INFINITY)),
    ...(now.pattern === was.pattern || now.pattern === undefined ? [] : ['pattern']),
  ]
  return [
    ...(now.type === undefined || isDeepStrictEqual(was.type, now.type) ? [] : [`${path} must be ${now.type}`]),
    ...(isFewer ? [`${path} takes fewer values`] : []),
    ...limits.map((limit) => `${path} has a stricter ${limit}`),
  ]
}

function memberBreaks({ was, now, path }: Pair): string[] {
  const needed = without(namesIn(now.required), namesIn(was.required)).map((name) => `${path} needs ${name}`)
  if (now.additionalProperties !== false) return needed
  const isClosed = was.type === 'object' && was.additionalProperties !== false
  const refused = without(membersOf(was), membersOf(now)).map((name) => `${path} refuses ${name}`)
  return [...needed, ...refused, ...(isClosed ? [`${path} is closed to members that it does not know`] : [])]
}

function outputBreaks(pair: Pair): string[] {
  const { was, now, path } = pair
  const [before, after] = [branchesOf(was), branchesOf(now)]
  if (before.length > 1 || after.length > 1) {
    return after.flatMap((one) => fewest(before.map((other) => outputBreaks({ was: other, now: one, path }))))
  }
  const isOther = was.type !== undefined && !isDeepStrictEqual(was.type, now.type)
  return [
    ...(isOther ? [`${path} is ${now.type ?? 'anything'}, not ${was.type}`] : []),
    ...without(namesIn(was.required), namesIn(now.required)).map((name) => `${path} may lack ${name}`),
    ...inner(pair).flatMap(outputBreaks),
  ]
}
