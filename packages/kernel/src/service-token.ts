import type { JWTPayload } from 'jose'
import type { Clock } from './clock.ts'
import { unauthenticated } from './error-codes.ts'
import { loadJose } from './load-jose.ts'
import type { Secret } from './secret.ts'

const LIFETIME_SECONDS = 60
const REUSE_MS = 30_000
const LEEWAY_SECONDS = 30

/** What a caller needs to make tokens: whose they are (`issuer`) and whom they are for (`audience`). */
export interface ServiceTokenOptions {
  readonly secret: Secret
  readonly issuer: string
  readonly audience: string
  readonly clock: Clock
}

/** Makes short-lived tokens for calls between services. */
export interface ServiceTokens {
  /** A token (JWT, HS256, RFC 7519) with at least 30 s of its 60 s left. */
  issue(): Promise<string>
}

/** Creates the maker of service tokens; a token is used again for 30 s, so that a busy caller signs seldom. */
export function createServiceTokens({ secret, issuer, audience, clock }: ServiceTokenOptions): ServiceTokens {
  const key = new TextEncoder().encode(secret.reveal())
  let current: { token: Promise<string>; issuedAtMs: number } | undefined
  return {
    issue() {
      const now = clock.now()
      if (current === undefined || Math.abs(now - current.issuedAtMs) > REUSE_MS) {
        const seconds = Math.floor(now / 1000)
        current = { token: sign({ iss: issuer, aud: audience, iat: seconds }, key), issuedAtMs: seconds * 1000 }
      }
      return current.token
    },
  }
}

async function sign(claims: JWTPayload & { readonly iat: number }, key: Uint8Array): Promise<string> {
  const { SignJWT } = await loadJose()
  const payload = { ...claims, exp: claims.iat + LIFETIME_SECONDS }
  return new SignJWT(payload).setProtectedHeader({ alg: 'HS256' }).sign(key)
}

/** Proves an `Authorization` header to be a live service token and tells who made it. */
export type ServiceTokenVerifier = (authorization: string | undefined) => Promise<{ issuer: string }>

/**
 * Creates the verifier of service tokens: HS256 only, `exp` at most 60 s after `iat`, 30 s of leeway.
 * @throws unauthenticated, alike for every reason
 */
export function createServiceTokenVerifier(options: Omit<ServiceTokenOptions, 'issuer'>): ServiceTokenVerifier {
  const key = new TextEncoder().encode(options.secret.reveal())
  const jose = loadJose()
  return async (authorization) => {
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) throw unauthenticated({ reason: 'missing' }, CHALLENGE)
    const { errors, jwtVerify } = await jose
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ['HS256'],
        audience: options.audience,
        clockTolerance: LEEWAY_SECONDS,
        currentDate: new Date(options.clock.now()),
        requiredClaims: ['iss', 'iat', 'exp'],
        maxTokenAge: LIFETIME_SECONDS,
      })
      const issuer = issuerOf(payload)
      if (issuer === null) throw unauthenticated({ reason: 'claims' }, CHALLENGE)
      return { issuer }
    } catch (cause) {
      if (cause instanceof errors.JOSEError) throw unauthenticated({ reason: cause.code }, CHALLENGE)
      throw cause
    }
  }
}

/** The issuer of a token that lives as long as a service token may, else null. */
function issuerOf({ iss, iat = Number.NaN, exp = Number.NaN }: JWTPayload): string | null {
  const lifetime = exp - iat
  return lifetime > 0 && lifetime <= LIFETIME_SECONDS && typeof iss === 'string' && iss !== '' ? iss : null
}

const CHALLENGE = { headers: { 'WWW-Authenticate': 'Bearer' } }
