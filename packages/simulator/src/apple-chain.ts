import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A key whose chain of three certificates is as one of Apple's, up to a root that nobody trusts yet. */
export interface AppleChain {
  /** PEM. */
  readonly privateKey: string
  /** PEM: the certificate of the key, its issuer and the root. */
  readonly certificates: readonly [leaf: string, issuer: string, root: string]
}

/** Makes the chain, valid from a day before `now` (milliseconds) for a year. */
export function makeAppleChain(now: number): AppleChain {
  const [root, issuer, leaf] = [makeKeys(), makeKeys(), makeKeys()]
  const validity = sequence(dateOf(now - DAY_MS), dateOf(now + 365 * DAY_MS))
  const make = (subject: Named, by: Named, extensions: readonly Buffer[]): string =>
    toPem(certificateOf({ subject, by, validity, extensions }))
  const [rootName, issuerName] = [
    { ...root, name: 'Simulated Root CA' },
    { ...issuer, name: 'Simulated Issuer' },
  ]
  return {
    privateKey: String(leaf.privateKey.export({ format: 'pem', type: 'pkcs8' })),
    certificates: [
      make({ ...leaf, name: 'Simulated Signer' }, issuerName, [extension(SIGNS_FOR_APP_STORE, NOTHING)]),
      make(issuerName, rootName, [AUTHORITY, extension(ISSUES_FOR_APPLE, NOTHING)]),
      make(rootName, rootName, [AUTHORITY]),
    ],
  }
}

const DAY_MS = 86_400_000

interface Named {
  readonly name: string
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

function makeKeys(): Omit<Named, 'name'> {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
}

/** A value of DER: its tag, its length, its content. */
function value(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return value(0x30, ...parts)
}

const hex = (digits: string): Buffer => Buffer.from(digits, 'hex')
const NOTHING = hex('0500')
// 1.2.840.113635.100.6.11.1 and 1.2.840.113635.100.6.2.1, which Apple's library looks for.
const SIGNS_FOR_APP_STORE = hex('2a864886f76364060b01')
const ISSUES_FOR_APPLE = hex('2a864886f76364060201')
const COMMON_NAME = hex('550403')
const AUTHORITY = extension(hex('551d13'), sequence(value(0x01, hex('ff'))))
const ECDSA_WITH_SHA256 = sequence(value(0x06, hex('2a8648ce3d040302')))
const VERSION_3 = value(0xa0, value(0x02, hex('02')))

function extension(identifier: Buffer, content: Buffer): Buffer {
  return sequence(value(0x06, identifier), value(0x04, content))
}

function nameOf(text: string): Buffer {
  return sequence(value(0x31, sequence(value(0x06, COMMON_NAME), value(0x0c, Buffer.from(text)))))
}

function dateOf(ms: number): Buffer {
  return value(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`))
}

interface Certificate {
  readonly subject: Named
  readonly by: Named
  readonly validity: Buffer
  readonly extensions: readonly Buffer[]
}

function certificateOf({ subject, by, validity, extensions }: Certificate): Buffer {
  const signed = sequence(
    ...[VERSION_3, value(0x02, hex('01')), ECDSA_WITH_SHA256, nameOf(by.name), validity, nameOf(subject.name)],
    subject.publicKey.export({ format: 'der', type: 'spki' }),
    value(0xa3, sequence(...extensions)),
  )
  return sequence(signed, ECDSA_WITH_SHA256, value(0x03, hex('00'), sign('sha256', signed, by.privateKey)))
}

function toPem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
