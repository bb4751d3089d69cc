import { readCapped } from '@oncehook/kernel/http/client'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import { isSafeAddress } from '../../operator-issuer.ts'

/** How an issuer is asked. */
export interface IssuerReading {
  readonly fetch: typeof globalThis.fetch
  readonly signal: AbortSignal
}

/** The most bytes of an answer of the issuer. */
export const MAX_ISSUER_BYTES = 262_144

/** The address of the document in which an issuer describes itself (OpenID Connect Discovery 1.0 section 4). */
export function discoveryUrlOf(issuer: string): URL {
  return new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
}

/**
 * Reads JSON from an issuer, at most 256 KiB. Redirects are not followed.
 * @throws Error if the answer is another
 */
export async function readIssuerJson(url: URL, { fetch, signal }: IssuerReading): Promise<unknown> {
  const response = await fetch(url, { headers: { Accept: 'application/json' }, redirect: 'manual', signal })
  const body = await readCapped(response, MAX_ISSUER_BYTES)
  if (response.status !== 200) throw new Error(`The issuer answered ${response.status}`)
  return parseStrictJson(body)
}

/**
 * An address that the document of an issuer names. The addresses of an https issuer must use https too. Plain HTTP is
 * safe on this machine only, and that issuer is elsewhere.
 * @throws Error if it is not safe
 */
export function namedAddress(name: string, text: string, discoveryUrl: URL): URL {
  const url = URL.parse(text)
  const isInClear = url?.protocol === 'http:' && discoveryUrl.protocol === 'https:'
  if (url === null || isInClear || !isSafeAddress(url)) throw new Error(`The ${name} is not an https URL`)
  return url
}
