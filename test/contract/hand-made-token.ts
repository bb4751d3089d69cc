import { createHash, createHmac, sign } from 'node:crypto'

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

// Written from docs/architecture.md, without the code that signs and verifies: a change of both sides must be noticed.

/** What a token for a call contains, as the gateway promises it. `iat` is in seconds. */
export function promisedParts({ procedure, input, ifMatch, subject }: TokenCall, iat: number): TokenParts {
  return {
    header: { alg: 'EdDSA', typ: 'oncehook-call+jwt' },
    claims: {
      ...{ iss: 'gateway', aud: 'fulfilment', iat, exp: iat + 60, proc: procedure, bsh: digestOf(input) },
      ...(ifMatch === undefined ? {} : { imh: digestOf(ifMatch) }),
      ...(subject === undefined ? {} : { sub: subject }),
    },
  }
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
