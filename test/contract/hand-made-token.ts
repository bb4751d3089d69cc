import { createHash, createHmac, sign, verify } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { demandPart } from './demand-part.ts'
import { CONTRACTS } from './pact-files.ts'

/** The parts of a service token (JWT, RFC 7519). */
export interface TokenParts {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** The call for which a token is made. */
export interface TokenCall {
  readonly procedure: string
  readonly input: string
  readonly ifMatch?: string
  readonly subject?: string
}

// Written from docs/explanation/architecture.md, without the code that signs and verifies: a change of both sides must be noticed.

const NAME = 'service-tokens.json'
/** A time in milliseconds is far above it. */
const MOST_SECONDS = 1e11

/** What gateway and fulfilment agree on about the token of every call. */
interface AgreedToken {
  readonly header: Readonly<Record<string, string>>
  readonly claims: Readonly<Record<string, string>>
  readonly seconds: number
}

/** The files of what is agreed: the current one, then those of the releases. */
export function tokenFiles(): string[] {
  return globSync([NAME, `releases/*/${NAME}`], { cwd: CONTRACTS }).toSorted((a, b) => a.length - b.length)
}

/** What a token for a call contains, as the gateway promises it. `iat` is in seconds. */
export function promisedParts({ procedure, input, ifMatch, subject }: TokenCall, iat: number, file = NAME): TokenParts {
  const { header, claims, seconds }: AgreedToken = JSON.parse(readFileSync(join(CONTRACTS, file), 'utf8'))
  return {
    header,
    claims: {
      ...{ ...claims, iat, exp: iat + seconds, proc: procedure, bsh: digestOf(input) },
      ...(ifMatch === undefined ? {} : { imh: digestOf(ifMatch) }),
      ...(subject === undefined ? {} : { sub: subject }),
    },
  }
}

/** A call as it was sent. */
export interface SentCall {
  readonly procedure: string
  readonly input: string
  readonly authorization: string
}

/** Reads a call of `fetch`. */
export function toSentCall(address: string, { headers, body }: RequestInit = {}): SentCall {
  const { pathname, searchParams } = new URL(address)
  const text = body instanceof Uint8Array ? Buffer.from(body).toString() : body
  return {
    procedure: pathname.slice(pathname.lastIndexOf('/') + 1),
    input: typeof text === 'string' ? text : (searchParams.get('input') ?? ''),
    authorization: new Headers(headers).get('authorization') ?? '',
  }
}

/**
 * Checks that a call was sent with a token for this call, signed by the key, in the name of this principal or of none, for this
 * audience. Further claims do no harm.
 * @throws with `who` and the differences
 */
export function demandToken(
  who: string,
  { authorization, ...call }: SentCall,
  { publicKey, ...named }: { readonly publicKey: string; readonly subject?: string; readonly audience?: string },
): void {
  const whose = `${who}: the token of ${call.procedure}`
  const { header, claims, text, signature } = readToken(authorization.replace(/^Bearer /, ''))
  const { subject, audience } = named
  const promised = promisedParts({ ...call, ...(subject === undefined ? {} : { subject }) }, Number(claims.iat))
  const aud = audience ?? promised.claims.aud
  demandPart(whose, { header, claims }, { ...promised, claims: { ...promised.claims, aud } })
  if (subject === undefined && claims.sub !== undefined) throw new Error(`${whose} names a principal: ${claims.sub}`)
  if (claims.imh !== undefined) throw new Error(`${whose} is bound to a precondition that the call lacks`)
  if (Number(claims.iat) > MOST_SECONDS) throw new Error(`${whose} was issued at a time that is not in seconds`)
  if (typeof claims.jti !== 'string' || claims.jti === '') throw new Error(`${whose} has no id`)
  const isSigned = verify(null, Buffer.from(text), publicKey, Buffer.from(signature, 'base64url'))
  if (!isSigned) throw new Error(`${whose} is not signed with the key of its issuer`)
}

/** The SHA-256 of a text as base64url. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Signs by Ed25519 with a private key in PEM. With another algorithm: by HMAC, with the key as the secret. */
export function makeToken({ header, claims }: TokenParts, key: string): string {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${signatureOf(text, { key, algorithm: header.alg })}`
}

function signatureOf(text: string, { key, algorithm }: { key: string; algorithm: unknown }): string {
  if (algorithm === 'EdDSA') return sign(null, Buffer.from(text), key).toString('base64url')
  if (algorithm === 'none') return ''
  const digest = algorithm === 'HS512' ? 'sha512' : 'sha256'
  return createHmac(digest, key).update(text).digest('base64url')
}

/** Reads a token without checking it. */
export function readToken(token: string): TokenParts & { readonly text: string; readonly signature: string } {
  const [header = '', claims = '', signature = ''] = token.split('.')
  const parse = (part: string): TokenParts['claims'] => JSON.parse(Buffer.from(part, 'base64url').toString())
  return { header: parse(header), claims: parse(claims), text: `${header}.${claims}`, signature }
}
