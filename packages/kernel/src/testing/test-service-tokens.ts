import { randomUUID } from 'node:crypto'
import { keyOfSecret } from '../secrets/parse-service-key.ts'
import type { Secret } from '../secrets/secret.ts'
import { createServiceTokens, type ServiceTokens } from '../secrets/service-token.ts'
import { type Clock, systemClock } from '../time/clock.ts'

interface TokenOptions {
  readonly issuer?: string
  readonly audience?: string
  readonly clock?: Clock
}

export function testServiceTokens(secret: Secret, options: TokenOptions = {}): ServiceTokens {
  const key = keyOfSecret(secret)
  const usual = { issuer: 'gateway', audience: 'fulfilment', clock: systemClock }
  return createServiceTokens({ ...usual, ...options, key: () => key, newId: randomUUID })
}
