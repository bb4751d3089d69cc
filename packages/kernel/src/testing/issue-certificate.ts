import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'
import type { TlsPair } from '../http/tls-files.ts'

/** An authority of a test. */
export interface TestAuthority {
  /** Its certificate, in PEM. */
  readonly ca: string
  /** Makes a key and a certificate of it; `hosts` are names and addresses that it is good for. */
  issue(commonName: string, hosts?: readonly string[]): TlsPair
}

/** Creates an authority with a key that nothing else has. */
export function createTestAuthority(commonName: string): TestAuthority {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = { commonName, privateKey }
  const ca = certify({ issuer, commonName, publicKey: createPublicKey(privateKey), extensions: [CA] })
  return {
    ca,
    issue(name, hosts = []) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const extensions = hosts.length === 0 ? [] : [subjectAltName(hosts)]
      const cert = certify({ issuer, commonName: name, publicKey: pair.publicKey, extensions })
      return { cert, key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
    },
  }
}

interface CertificateRequest {
  readonly issuer: { readonly commonName: string; readonly privateKey: KeyObject }
  readonly commonName: string
  readonly publicKey: KeyObject
  readonly extensions: readonly Buffer[]
}

const DAY_MS = 86_400_000

/** A certificate of X.509 version 3 (RFC 5280), good from yesterday to tomorrow. */
function certify({ issuer, commonName, publicKey, extensions }: CertificateRequest): string {
  const now = Date.now()
  const toBeSigned = der(
    0x30,
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    nameOf(issuer.commonName),
    der(0x30, der(0x17, toUtcTime(now - DAY_MS)), der(0x17, toUtcTime(now + DAY_MS))),
    nameOf(commonName),
    publicKey.export({ format: 'der', type: 'spki' }),
    ...(extensions.length === 0 ? [] : [der(0xa3, der(0x30, ...extensions))]),
  )
  const signature = der(0x03, Buffer.of(0), sign('sha256', toBeSigned, issuer.privateKey))
  const lines =
    der(0x30, toBeSigned, ECDSA_WITH_SHA256, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

// RFC 5758: ecdsa-with-SHA256; RFC 5280: basicConstraints (an authority) and subjectAltName; X.520: commonName.
const ECDSA_WITH_SHA256 = der(0x30, oid('2a8648ce3d040302'))
const CA = der(0x30, oid('551d13'), der(0x01, Buffer.of(0xff)), der(0x04, Buffer.from('30030101ff', 'hex')))

function subjectAltName(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIPv4(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host)),
  )
  return der(0x30, oid('551d11'), der(0x04, der(0x30, ...names)))
}

function nameOf(commonName: string): Buffer {
  return der(0x30, der(0x31, der(0x30, oid('550403'), der(0x0c, Buffer.from(commonName)))))
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

/** One element of DER (X.690): tag, length, content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  if (content.length < 0x80) return Buffer.concat([Buffer.of(tag, content.length), content])
  const digits = content.length.toString(16)
  const length = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
  return Buffer.concat([Buffer.of(tag, 0x80 + length.length), length, content])
}

function toUtcTime(ms: number): Buffer {
  return Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`)
}
