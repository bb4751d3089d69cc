import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { createServiceTokens, type ServiceTokens } from '../secrets/service-token.ts'
import { type Clock, systemClock } from '../time/clock.ts'

/** A key pair of service tokens: the gateway's private key, and the public key of everybody else. PEM. */
export interface ServiceKeyPair {
  readonly privateKey: string
  readonly publicKey: string
}

/** Makes a new key pair. */
export function newServiceKeyPair(): ServiceKeyPair {
  return generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
}

/** Options that differ from the gateway's. */
interface TokenOptions {
  readonly issuer?: string
  readonly audience?: string
  readonly clock?: Clock
}

/** The issuer of the gateway's service tokens for fulfilment. */
export function testServiceTokens(keys: ServiceKeyPair, options: TokenOptions = {}): ServiceTokens {
  const signing: KeyObject = createPrivateKey(keys.privateKey)
  const usual = { issuer: 'gateway', audience: 'fulfilment', clock: systemClock }
  return createServiceTokens({ ...usual, ...options, key: () => signing, newId: randomUUID })
}
