import type { KeyObject } from 'node:crypto'
import { errors, type JWTPayload, jwtVerify } from 'jose'

/** How a token (JWT, RFC 7519) is verified. */
export interface JwtRules {
  readonly key: KeyObject
  /** Milliseconds. */
  readonly now: number
  /** Tolerance for `exp` and `nbf`, if present. */
  readonly leewaySeconds: number
}

const BASE64URL = /^[A-Za-z0-9_-]+$/

/** The claims of a token signed with the key by HS256 and no other algorithm. Null for any other text. */
export async function verifyJwt(token: string, { key, now, leewaySeconds }: JwtRules): Promise<JWTPayload | null> {
  const parts = token.split('.')
  if (parts.length !== 3 || !parts.every(isCanonical)) return null
  try {
    const options = { algorithms: ['HS256'], currentDate: new Date(now), clockTolerance: leewaySeconds }
    return (await jwtVerify(token, key, options)).payload
  } catch (error) {
    if (error instanceof errors.JOSEError) return null
    throw error
  }
}

// Unused bits in the last character would allow several encodings of one token.
function isCanonical(part: string): boolean {
  return BASE64URL.test(part) && Buffer.from(part, 'base64url').toString('base64url') === part
}
