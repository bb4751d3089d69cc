import { createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto'

/** Whose key a certificate is, and when it counts. */
export interface CertificateOrder {
  /** RSA. */
  readonly privateKey: KeyObject
  readonly commonName: string
  /** Milliseconds since 1970, whole years 1950 to 2049. */
  readonly notBefore: number
  readonly notAfter: number
}

// RFC 8017: sha256WithRSAEncryption, and X.520: commonName.
const SHA256_WITH_RSA = der(0x30, der(0x06, Buffer.from('2a864886f70d01010b', 'hex')), der(0x05))
const COMMON_NAME = der(0x06, Buffer.from('550403', 'hex'))

/** A certificate in PEM (X.509, RFC 5280) that vouches for itself: for a provider that exists on this machine only. */
export function makeSelfSignedCertificate({ privateKey, commonName, notBefore, notAfter }: CertificateOrder): string {
  const name = der(0x30, der(0x31, der(0x30, COMMON_NAME, der(0x0c, Buffer.from(commonName)))))
  const serial = Buffer.concat([Buffer.of(1), randomBytes(15)])
  const toBeSigned = der(
    0x30,
    der(0x02, serial),
    SHA256_WITH_RSA,
    name,
    der(0x30, der(0x17, toUtcTime(notBefore)), der(0x17, toUtcTime(notAfter))),
    name,
    createPublicKey(privateKey).export({ format: 'der', type: 'spki' }),
  )
  const signature = sign('sha256', toBeSigned, privateKey)
  // The first byte of a bit string says how many of its last bits are unused.
  const certificate = der(0x30, toBeSigned, SHA256_WITH_RSA, der(0x03, Buffer.of(0), signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
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
