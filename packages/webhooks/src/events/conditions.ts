import { resolvePointer } from './json-pointer.ts'

type Scalar = string | number | boolean | null

/** What a value must be: this one, with its type; a text that begins so; one of these; a number within these bounds. */
export type Condition =
  | Scalar
  | { readonly prefix: string }
  | { readonly in: readonly Scalar[] }
  | {
      readonly gt?: number | undefined
      readonly gte?: number | undefined
      readonly lt?: number | undefined
      readonly lte?: number | undefined
    }

/** What a document must have, by JSON Pointer (RFC 6901): all of it. */
export type Conditions = Readonly<Record<string, Condition>>

/** Conditions, or several of which one is enough. */
export type Alternatives = Conditions | readonly Conditions[]

export function meets(document: unknown, conditions: Alternatives): boolean {
  return firstUnmet(document, conditions) === null
}

/** The first pointer at which a document does not meet conditions, of several the first ones; null if it meets them. */
export function firstUnmet(document: unknown, conditions: Alternatives): string | null {
  const [first = {}, ...others] = isList(conditions) ? conditions : [conditions]
  const unmet = Object.keys(first).find((pointer) => !holds(resolvePointer(document, pointer), first[pointer]))
  return unmet === undefined || others.some((other) => meets(document, other)) ? null : unmet
}

export function pointersOf(conditions: Alternatives): string[] {
  return (isList(conditions) ? conditions : [conditions]).flatMap((one) => Object.keys(one))
}

function isList(conditions: Alternatives): conditions is readonly Conditions[] {
  return Array.isArray(conditions)
}

function holds(value: unknown, condition: Condition | undefined): boolean {
  if (typeof condition !== 'object' || condition === null) return value === condition
  if ('prefix' in condition) return typeof value === 'string' && value.startsWith(condition.prefix)
  if ('in' in condition) return condition.in.some((one) => one === value)
  if (typeof value !== 'number' && typeof value !== 'bigint') return false
  const { gt, gte, lt, lte } = condition
  return (
    (gt === undefined || value > gt) &&
    (gte === undefined || value >= gte) &&
    (lt === undefined || value < lt) &&
    (lte === undefined || value <= lte)
  )
}
