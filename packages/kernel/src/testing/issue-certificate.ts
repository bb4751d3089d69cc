import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { makeCertificate } from '@oncehook/simulator/make-certificate'
import type { TlsPair } from '../http/tls/tls-files.ts'

/** A certificate authority for a test. */
export interface TestAuthority {
  /** Its certificate, in PEM. */
  readonly ca: string
  /** Issues a key and certificate. `hosts` are the names and addresses in the certificate. */
  issue(commonName: string, hosts?: readonly string[]): TlsPair
}

const DAY_MS = 86_400_000

/** Creates an authority with a new key. Its certificates are valid from yesterday to tomorrow. */
export function createTestAuthority(commonName: string): TestAuthority {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = { commonName, privateKey }
  const span = () => ({ notBefore: Date.now() - DAY_MS, notAfter: Date.now() + DAY_MS })
  const publicKey = createPublicKey(privateKey)
  return {
    ca: makeCertificate({ issuer, commonName, publicKey, isAuthority: true, ...span() }),
    issue(name, hosts = []) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const cert = makeCertificate({ issuer, commonName: name, publicKey: pair.publicKey, hosts, ...span() })
      return { cert, key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
    },
  }
}
