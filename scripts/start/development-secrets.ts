import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { writePrivateFile } from './write-private-file.ts'

interface DevelopmentProvider {
  readonly scheme: string
  readonly effects?: readonly string[]
  readonly testMode?: true
  readonly expect?: Readonly<Record<string, string>>
  readonly secrets: readonly { readonly id: string; readonly value: string }[]
}

/** The secrets of the system on one machine. They work nowhere else and are never printed. */
export interface DevelopmentSecrets {
  /** The key pair of service tokens, in PEM. */
  readonly serviceKeys: { readonly privateKey: string; readonly publicKey: string }
  /** Principal -> bearer token for `/api/orders`. */
  readonly apiTokens: Readonly<Record<string, string>>
  /** Operator -> bearer token for the operator API. */
  readonly operatorTokens: Readonly<Record<string, string>>
  /** Provider settings in the form of `PROVIDERS`. */
  readonly providers: Readonly<Record<string, DevelopmentProvider>>
}

/** Makes new secrets from random bytes. */
export function makeDevelopmentSecrets(randomBytes: (count: number) => Buffer): DevelopmentSecrets {
  const token = () => randomBytes(32).toString('base64url')
  const secret = (value: string) => [{ id: 'development', value }]
  const effects = ['payment.succeeded', 'payment.failed']
  const hmac = { header: 'x-signature', algorithm: 'sha256', encoding: 'hex', prefix: 'sha256=' }
  return {
    serviceKeys: generateKeyPairSync('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    }),
    apiTokens: { dev: token() },
    operatorTokens: { dev: token() },
    providers: {
      acme: { scheme: 'standard-webhooks', effects, secrets: secret(`whsec_${randomBytes(32).toString('base64')}`) },
      stripe: { scheme: 'stripe', testMode: true, expect: {}, secrets: secret(`whsec_${token()}`) },
      shop: { scheme: 'hmac', ...hmac, effects, secrets: secret(token()) },
    },
  }
}

/** Reads the secrets of this data folder, and makes them at the first start. */
export function readDevelopmentSecrets(path: string, randomBytes: (count: number) => Buffer): DevelopmentSecrets {
  if (!existsSync(path)) writePrivateFile(path, makeDevelopmentSecrets(randomBytes))
  chmodSync(path, 0o600)
  const made = makeDevelopmentSecrets(randomBytes)
  try {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as Partial<DevelopmentSecrets>
    const missing = Object.keys(made).filter((name) => kept[name as keyof DevelopmentSecrets] === undefined)
    if (missing.length === 0) return kept as DevelopmentSecrets
  } catch {
    // Reported below, because the parser's message would quote the file.
  }
  throw new Error(`${path} was not written by npm start: move it away, and the next start creates new secrets`)
}
