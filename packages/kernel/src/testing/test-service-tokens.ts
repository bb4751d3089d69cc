import { randomUUID } from 'node:crypto'
import { keyOfSecret } from '../secrets/parse-service-key.ts'
import type { Secret } from '../secrets/secret.ts'
import { createServiceTokens, type ServiceTokens } from '../secrets/service-token.ts'
import { type Clock, systemClock } from '../time/clock.ts'

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
