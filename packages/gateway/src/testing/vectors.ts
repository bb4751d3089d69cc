import { readdirSync, readFileSync } from 'node:fs'
import type { Delivery } from '../providers/delivery.ts'
import type { Provider } from '../providers/provider.ts'
import { makeProvider } from './make-provider.ts'

/** A delivery and what a verifier has to say of it, as it stands in a file of `contracts/vectors`. */
export interface Vector {
  readonly why: string
  readonly verdict: 'accepted' | 'refused'
  readonly settings?: Readonly<Record<string, unknown>>
  readonly secret: string
  /** ISO 8601. */
  readonly notAfter?: string
  /** Seconds since 1970. */
  readonly now: number
  /** One character a byte. */
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

/** The provider that a vector is judged by; its only secret is `s1`. */
export function providerOf(scheme: string, { settings, secret, notAfter }: Vector): Provider {
  return makeProvider({
    settings: { scheme, ...settings },
    secrets: [{ value: secret, ...(notAfter === undefined ? {} : { notAfter }) }],
  })
}

/** A vector as a delivery. */
export function deliveryOf({ headers, body, query = '' }: Vector): Delivery {
  return { rawBody: Buffer.from(body, 'base64'), rawHeaders: headers.flat(), query }
}
