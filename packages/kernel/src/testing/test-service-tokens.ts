import { randomUUID } from 'node:crypto'
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
