import { generateKeyPairSync, type KeyObject, randomBytes, randomInt, randomUUID } from 'node:crypto'
import type { SigningSettings } from '@oncehook/webhooks/signing/signer'
import { makeAppleChain } from './apple-chain.ts'

/** A new secret in the format of a scheme. */
export interface DevelopmentSecret {
  /** The signing secret; for a key pair, the private key. Never commit it. */
  readonly signWith: string
  /** The `value` of the secret in the gateway's settings; null if the provider has none. */
  readonly value: string | null
  readonly gatewaySettings?: SigningSettings
  readonly signerSettings?: SigningSettings
}

type Maker = (now: number) => DevelopmentSecret | Promise<DevelopmentSecret>

const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ...['clerk', 'dodo', 'gitlab', 'resend', 'standard-webhooks'].map((scheme): [string, Maker] => [
    scheme,
    () => same(`whsec_${randomBytes(32).toString('base64')}`),
  ]),
  ['stripe', () => same(`whsec_${randomBytes(24).toString('hex')}`)],
  ['app-store', makeAppStoreSecret],
  ['braintree', () => same(`${randomBytes(8).toString('hex')}:${randomBytes(16).toString('hex')}`)],
  ['discord', makeDiscordSecret],
  ['sendgrid', makeSendgridSecret],
  ['paypal', makePaypalSecret],
  ['plaid', makePlaidSecret],
  ['sns', makeSnsSecret],
  ['wise', makeWiseSecret],
  ['mollie-classic', () => ({ signWith: '', value: null })],
])

/**
 * Generates a secret for a scheme: a key pair if the scheme uses one, else 32 random bytes. `now` (milliseconds) is the start of
 * the validity of a certificate.
 */
export async function makeDevelopmentSecret(scheme: string, now: number): Promise<DevelopmentSecret> {
  return (await makers.get(scheme)?.(now)) ?? same(randomBytes(32).toString('hex'))
}

export function makeAsymmetricStandardSecret(): DevelopmentSecret {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' })
  const both = Buffer.concat([d, x].map((half) => Buffer.from(half, 'base64url')))
  return { signWith: `whsk_${both.toString('base64')}`, value: `whpk_${rawKeyOf(publicKey).toString('base64')}` }
}

function same(secret: string): DevelopmentSecret {
  return { signWith: secret, value: secret }
}

function makeDiscordSecret(): DevelopmentSecret {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return { signWith: toPem(privateKey), value: rawKeyOf(publicKey).toString('hex') }
}

function makeSendgridSecret(): DevelopmentSecret {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  return {
    signWith: toPem(privateKey),
    value: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  }
}

const DAY_MS = 86_400_000

async function makeCertificate(now: number): Promise<{ readonly private: string; readonly cert: string }> {
  // Loaded here, because few schemes need it.
  const { generate } = await import('selfsigned')
  return await generate([{ name: 'commonName', value: 'simulator.invalid' }], {
    ...{ keySize: 2048, algorithm: 'sha256' },
    ...{ notBeforeDate: new Date(now - DAY_MS), notAfterDate: new Date(now + 365 * DAY_MS) },
  })
}

async function makePaypalSecret(now: number): Promise<DevelopmentSecret> {
  const made = await makeCertificate(now)
  const webhookId = randomBytes(9).toString('hex').toUpperCase()
  return {
    signWith: made.private,
    value: webhookId,
    gatewaySettings: { certificates: [made.cert] },
    signerSettings: { webhookId },
  }
}

async function makeSnsSecret(now: number): Promise<DevelopmentSecret> {
  const made = await makeCertificate(now)
  const topicArn = `arn:aws:sns:us-east-1:${String(randomInt(1e11, 1e12))}:simulated`
  return {
    signWith: made.private,
    value: topicArn,
    gatewaySettings: { certificates: [made.cert] },
    signerSettings: { topicArn },
  }
}

function makeAppStoreSecret(now: number): DevelopmentSecret {
  const { privateKey, certificates } = makeAppleChain(now)
  const bundleId = `com.example.${randomBytes(6).toString('hex')}`
  return {
    signWith: [privateKey, ...certificates].join(''),
    value: bundleId,
    gatewaySettings: { certificates: certificates.slice(-1) },
    signerSettings: { bundleId },
  }
}

function makePlaidSecret(): DevelopmentSecret {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const keyId = randomUUID()
  const key = { ...publicKey.export({ format: 'jwk' }), kid: keyId, alg: 'ES256', use: 'sig', expired_at: null }
  return {
    signWith: toPem(privateKey),
    value: `${randomBytes(12).toString('hex')}:${randomBytes(15).toString('hex')}`,
    gatewaySettings: { keys: [key] },
    signerSettings: { keyId },
  }
}

function makeWiseSecret(): DevelopmentSecret {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { signWith: toPem(privateKey), value: String(publicKey.export({ format: 'pem', type: 'spki' })).trim() }
}

function toPem(privateKey: KeyObject): string {
  return String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
}

function rawKeyOf(publicKey: KeyObject): Buffer {
  return Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
}
