import type { Alternatives } from './conditions.ts'

/** What a type of a provider means: another type, perhaps only of documents that meet conditions. */
export type Meaning = string | { readonly is: string; readonly where: Alternatives }

/**
 * Where the values of an event are in a body, or in one item of a body with several, as JSON Pointers (RFC 6901). What is left
 * out is where the scheme finds it.
 */
export interface Mapping {
  /** The id of the event. Without one, it has the hash of its bytes. */
  readonly id?: string | undefined
  /** The values that together are the id, if none alone is: the id is a hash over all of them. */
  readonly idOf?: readonly string[] | undefined
  readonly type?: string | undefined
  /** The id of the object that the event is about; for a payment, the id of the payment. */
  readonly object?: string | undefined
  readonly order?: string | undefined
  readonly amount?: string | undefined
  /** Whether the amount is in minor units (1999), or a decimal (19.99). Default: minor. */
  readonly amountIn?: 'minor' | 'decimal' | undefined
  readonly currency?: string | undefined
  /** ISO 8601, or seconds or milliseconds since 1970. */
  readonly time?: string | undefined
}

/** Each pointer of a mapping, with the name of its setting. */
export function pointersOfMapping({ amountIn: _, idOf = [], ...single }: Mapping): (readonly [string, string])[] {
  const named = Object.entries(single).flatMap(([name, pointer]) =>
    pointer === undefined ? [] : [[name, pointer] as const],
  )
  return [...idOf.map((pointer, at) => [`idOf[${at}]`, pointer] as const), ...named]
}

/** The type that a meaning names, whatever the document. */
export function typeOfMeaning(meaning: Meaning): string {
  return typeof meaning === 'string' ? meaning : meaning.is
}
