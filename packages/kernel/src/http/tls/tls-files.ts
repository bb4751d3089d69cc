import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { SettingsError } from '../../settings.ts'

/** A certificate chain and its private key, in PEM. */
export interface TlsPair {
  readonly cert: string
  readonly key: string
}

/** The configured PEM texts of a certificate and its key. */
export interface TlsPairTexts {
  readonly cert: string | undefined
  readonly key: string | undefined
}

/**
 * Validates a certificate and its key. Null if neither is set.
 * @throws SettingsError that names the setting, never a value
 */
export function checkTlsPair({ cert, key }: TlsPairTexts, prefix: string): TlsPair | null {
  if (cert === undefined && key === undefined) return null
  if (cert === undefined || key === undefined) {
    throw new SettingsError([`${prefix}_CERT and ${prefix}_KEY must be set together`])
  }
  const certificate = readOrNull(() => new X509Certificate(cert))
  const privateKey = readOrNull(() => createPrivateKey(key))
  const problems = [
    ...(certificate === null ? [`${prefix}_CERT is not a certificate in PEM`] : []),
    ...(privateKey === null ? [`${prefix}_KEY is not a private key in PEM without a passphrase`] : []),
  ]
  if (certificate !== null && privateKey !== null && !certificate.checkPrivateKey(privateKey)) {
    problems.push(`${prefix}_KEY is not the key of ${prefix}_CERT`)
  }
  // OpenSSL parses the whole chain and checks its strength.
  if (problems.length === 0 && readOrNull(() => createSecureContext({ cert, key })) === null) {
    problems.push(
      `${prefix}_CERT and ${prefix}_KEY cannot be used for TLS: the content is invalid or a key is too weak`,
    )
  }
  if (problems.length > 0) throw new SettingsError(problems)
  return { cert, key }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Validates a text with one or more CA certificates. Undefined if not set.
 * @throws SettingsError that names the setting, never a value
 */
export function checkTlsAuthorities(text: string | undefined, name: string): string | undefined {
  if (text === undefined) return undefined
  const certificates = text.match(CERTIFICATE) ?? []
  const areRead = certificates.every((pem) => readOrNull(() => new X509Certificate(pem)) !== null)
  // OpenSSL silently ignores invalid content, so an authority could be missing.
  const count = text.split('-----BEGIN').length - 1
  if (count > 0 && count === certificates.length && areRead) return text
  throw new SettingsError([`${name} is not one or more certificates in PEM`])
}

function readOrNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
