import type { X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { readCertificates } from './certificate-finder.ts'

/** The setting with the only certificates that count (PEM). */
export const pinnedCertificates = z.array(z.string().max(65_536)).min(1).max(8).optional()

/** What is wrong with pinned certificates, one clause each. */
export function certificateProblems(certificates: readonly string[], kind: 'rsa' | 'ec' = 'rsa'): readonly string[] {
  return certificates.every((pem) => readCertificates(pem)[0]?.publicKey.asymmetricKeyType === kind)
    ? []
    : [`certificates must be PEM, with ${kind.toUpperCase()} keys`]
}

/** The first certificate of each text: the others are its chain. */
export function leavesOf(certificates: readonly string[]): readonly X509Certificate[] {
  return certificates.flatMap((pem) => readCertificates(pem).slice(0, 1))
}
