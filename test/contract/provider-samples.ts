import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CONTRACTS } from './pact-files.ts'

/** Other values by their places: JSON Pointers, or, in a body that is text, the text that they replace. Undefined: none. */
export type Change = Readonly<Record<string, unknown>>

/** A body as a provider sends it, and what it means: a file of `contracts/events`. */
export interface Sample {
  readonly scheme: string
  readonly about: string
  /** Where the provider shows the body or names its types. */
  readonly document?: string
  /** Where the scheme does not take any text for a secret; null where it has none. */
  readonly secret?: string | null
  readonly settings?: Readonly<Record<string, unknown>>
  readonly headers?: readonly (readonly [name: string, value: string])[]
  /** The id that the scheme signs in a header. */
  readonly signedId?: string
  readonly query?: string
  /** Text is sent as it is, anything else as JSON. */
  readonly body: unknown
  /** An id that is left out is made of the bytes; an object that is null has no id. */
  readonly events?: readonly {
    readonly id?: string
    readonly type: string
    readonly objectId: string | null
    readonly facts: object
  }[]
  /** The answer to a handshake, where it is one. */
  readonly handshake?: object
  /** The types of the provider that mean the same, and how the body differs for each. */
  readonly types?: Readonly<Record<string, Change>>
  /** What means no payment, and how the body differs. */
  readonly unless?: Readonly<Record<string, Change>>
  /** Where each value of the event is: of several places, the first that has one counts. */
  readonly places?: Readonly<Record<string, readonly string[]>>
  /** Of a body with several events: the first of them. */
  readonly at?: string
  /** Amounts as the provider writes them, and in minor units (ISO 4217). */
  readonly amounts?: readonly (readonly [currency: string, sent: unknown, units: number])[]
}

/** All files of `contracts/events`. */
export function readSamples(): { readonly name: string; readonly sample: Sample }[] {
  const folder = join(CONTRACTS, 'events')
  return readdirSync(folder).map((name) => ({
    name: name.replace('.json', ''),
    sample: JSON.parse(readFileSync(join(folder, name), 'utf8')) as Sample,
  }))
}

export function bytesOfBody(body: unknown): Buffer {
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

/** The body with other values. */
export function bodyWith(body: unknown, change: Change): unknown {
  const places = Object.entries(change)
  if (typeof body === 'string' && !places.some(([place]) => place.startsWith('/'))) {
    return places.reduce((text, [from, to]) => text.replace(from, String(to)), body)
  }
  const other: unknown = typeof body === 'string' ? JSON.parse(body) : structuredClone(body)
  for (const [pointer, value] of places) {
    const names = pointer.split('/').slice(1)
    const last = names.pop() ?? ''
    names.reduce(childOf, other as Parent)[last] = value
  }
  return other
}

type Parent = Record<string, unknown>

/** The object at this name; a new one, if there is none, or an empty list, as PHP writes an empty object. */
function childOf(parent: Parent, name: string): Parent {
  const child = parent[name]
  if (typeof child === 'object' && child !== null && !(Array.isArray(child) && child.length === 0))
    return child as Parent
  const made: Parent = {}
  parent[name] = made
  return made
}
