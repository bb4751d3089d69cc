import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { makeCertificate } from './make-certificate.ts'
import type { SigningSettings } from './signers/signer.ts'

/** A new secret in the format of a scheme. */
export interface DevelopmentSecret {
  /** The signing secret; for a key pair, the private key. Never commit it. */
  readonly signWith: string
  /** The `value` of the secret in the gateway's settings; null if the provider has none. */
  readonly value: string | null
  /** Other gateway settings for this secret. */
  readonly gatewaySettings?: SigningSettings
  /** Other signer settings for this secret. */
  readonly signerSettings?: SigningSettings
}

const makers: ReadonlyMap<string, (now: number) => DevelopmentSecret> = new Map<
  string,
  (now: number) => DevelopmentSecret
>([
  ['standard-webhooks', () => same(`whsec_${randomBytes(32).toString('base64')}`)],
  ['gitlab', () => same(`whsec_${randomBytes(32).toString('base64')}`)],
  ['stripe', () => same(`whsec_${randomBytes(24).toString('hex')}`)],
  ['discord', makeDiscordSecret],
  ['sendgrid', makeSendgridSecret],
  ['paypal', makePaypalSecret],
  ['mollie-classic', () => ({ signWith: '', value: null })],
])

/**
 * Generates a secret for a scheme: a key pair if the scheme uses one, else 32 random bytes. `now` (milliseconds) is the start of
 * the validity of a certificate.
 */
export function makeDevelopmentSecret(scheme: string, now: number): DevelopmentSecret {
  return makers.get(scheme)?.(now) ?? same(randomBytes(32).toString('hex'))
}

/** A key pair for Standard Webhooks v1a. */
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

function makePaypalSecret(now: number): DevelopmentSecret {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const commonName = 'simulator.invalid'
  const certificate = makeCertificate({
    ...{ issuer: { commonName, privateKey }, commonName, publicKey },
    notBefore: now - DAY_MS,
    notAfter: now + 365 * DAY_MS,
  })
  const webhookId = randomBytes(9).toString('hex').toUpperCase()
  return {
    signWith: toPem(privateKey),
    value: webhookId,
    gatewaySettings: { certificates: [certificate] },
    signerSettings: { webhookId },
  }
}

function toPem(privateKey: KeyObject): string {
  return String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
}

function rawKeyOf(publicKey: KeyObject): Buffer {
  return Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
}
