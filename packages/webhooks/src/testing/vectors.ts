import { readdirSync, readFileSync } from 'node:fs'
import type { Delivery } from '../delivery.ts'
import type { Provider } from '../provider.ts'
import { makeProvider } from './make-provider.ts'

/** A delivery and its expected result, as in a file of `contracts/vectors`. */
export interface Vector {
  readonly why: string
  readonly verdict: 'accepted' | 'refused'
  /** The places of the items that are refused, if items are signed one by one and others hold. */
  readonly refusedItems?: readonly number[]
  readonly settings?: Readonly<Record<string, unknown>>
  /** Empty if the provider has none. */
  readonly secret: string
  /** ISO 8601. */
  readonly notAfter?: string
  /** Seconds since 1970. */
  readonly now: number
  /** One character per byte. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly query?: string
  /** Base64. */
  readonly body: string
}

/** The vectors of one scheme. */
export interface VectorFile {
  readonly scheme: string
  readonly cases: readonly Vector[]
}

const FOLDER = new URL('../../../../contracts/vectors/', import.meta.url)

/** All files of `contracts/vectors`. */
export function readVectorFiles(): VectorFile[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as VectorFile)
}

/** The secrets of a vector as in `PROVIDERS`: one with the id `s1`, or none. */
export function secretsOf({ secret, notAfter }: Vector): { id: string; value: string; notAfter?: string }[] {
  return secret === '' ? [] : [{ id: 's1', value: secret, ...(notAfter === undefined ? {} : { notAfter }) }]
}

/** The provider that verifies a vector. */
export function providerOf(scheme: string, vector: Vector): Provider {
  return makeProvider({ settings: { scheme, ...vector.settings }, secrets: secretsOf(vector) })
}

/** A vector as a delivery. */
export function deliveryOf({ headers, body, query = '' }: Vector): Delivery {
  return { rawBody: Buffer.from(body, 'base64'), rawHeaders: headers.flat(), query }
}
