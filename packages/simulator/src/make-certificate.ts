import { type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

/** The content of a certificate, and its issuer. */
export interface CertificateOrder {
  /** RSA, or EC on P-256. With its own name and key, the certificate is self-signed. */
  readonly issuer: { readonly commonName: string; readonly privateKey: KeyObject }
  readonly commonName: string
  readonly publicKey: KeyObject
  /** Milliseconds since 1970, whole years 1950 to 2049. */
  readonly notBefore: number
  readonly notAfter: number
  /** Whether it is a certificate authority. Default: false. */
  readonly isAuthority?: boolean
  /** Its host names and IPv4 addresses. */
  readonly hosts?: readonly string[]
}

/** A PEM certificate (X.509, RFC 5280) for use on this machine only. */
export function makeCertificate(order: CertificateOrder): string {
  const { issuer, commonName, publicKey, notBefore, notAfter, isAuthority = false, hosts = [] } = order
  const algorithm = issuer.privateKey.asymmetricKeyType === 'rsa' ? SHA256_WITH_RSA : ECDSA_WITH_SHA256
  const extensions = [...(isAuthority ? [AUTHORITY] : []), ...(hosts.length === 0 ? [] : [subjectAltName(hosts)])]
  const serial = Buffer.concat([Buffer.of(1), randomBytes(15)])
  const toBeSigned = der(
    0x30,
    // Only version 3 has extensions. Without a version, a certificate has version 1.
    ...(extensions.length === 0 ? [] : [der(0xa0, der(0x02, Buffer.of(2)))]),
    der(0x02, serial),
    algorithm,
    nameOf(issuer.commonName),
    der(0x30, der(0x17, toUtcTime(notBefore)), der(0x17, toUtcTime(notAfter))),
    nameOf(commonName),
    publicKey.export({ format: 'der', type: 'spki' }),
    ...(extensions.length === 0 ? [] : [der(0xa3, der(0x30, ...extensions))]),
  )
  const signature = sign('sha256', toBeSigned, issuer.privateKey)
  // The first byte of a bit string is the number of unused bits at its end.
  const certificate = der(0x30, toBeSigned, algorithm, der(0x03, Buffer.of(0), signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

// RFC 8017: sha256WithRSAEncryption; RFC 5758: ecdsa-with-SHA256; RFC 5280: basicConstraints (an authority).
const SHA256_WITH_RSA = der(0x30, oid('2a864886f70d01010b'), der(0x05))
const ECDSA_WITH_SHA256 = der(0x30, oid('2a8648ce3d040302'))
const AUTHORITY = der(0x30, oid('551d13'), der(0x01, Buffer.of(0xff)), der(0x04, Buffer.from('30030101ff', 'hex')))

function subjectAltName(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIPv4(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host)),
  )
  return der(0x30, oid('551d11'), der(0x04, der(0x30, ...names)))
}

/** A name with only a commonName (X.520). */
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
