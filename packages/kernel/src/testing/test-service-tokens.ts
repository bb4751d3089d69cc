import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { type Clock, systemClock } from '../clock.ts'
import { keyOfSecret } from '../parse-service-key.ts'
import type { Secret } from '../secret.ts'
import { createServiceTokens, type ServiceTokens } from '../service-token.ts'

/** Options that differ from the gateway's. */
interface TokenOptions {
  readonly issuer?: string
  readonly audience?: string
  readonly clock?: Clock
}

/** The issuer of the gateway's service tokens for fulfilment. */
export function testServiceTokens(secret: Secret, options: TokenOptions = {}): ServiceTokens {
  const key = keyOfSecret(secret)
  const usual = { issuer: 'gateway', audience: 'fulfilment', clock: systemClock }
  return createServiceTokens({ ...usual, ...options, key: () => key, newId: randomUUID })
}

/** An unbound token, as issued by the gateway of release 0.1.0. */
export function unboundToken(secret: Secret, options: TokenOptions = {}): Promise<string> {
  const { issuer = 'gateway', audience = 'fulfilment', clock = systemClock } = options
  const iat = Math.floor(clock.now() / 1_000)
  const claims = { iss: issuer, aud: audience, iat, exp: iat + 60 }
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret.reveal()))
}
