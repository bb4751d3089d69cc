import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { createSecureContext, TLSSocket } from 'node:tls'
import { z } from 'zod'
import type { Logger } from '../../log/logger.ts'
import { registerSecret } from '../../secrets/secret-register.ts'
import { createFileSource, type FileSource, type WatchedSource, watchSource } from '../../settings/file-source.ts'
import { collectProblems, readSettings, SettingsError, textSetting } from '../../settings/settings.ts'

/** TLS settings of an HTTPS listener, in PEM. */
export interface ServerTls extends TlsPair {
  /** CA certificates for client certificates. Undefined: none is requested. */
  readonly clientCa?: string | undefined
}

/** TLS settings of an HTTPS client, in PEM. */
export interface ClientTls {
  /** The trusted CA certificates. Undefined: those of Node. */
  readonly ca: string | undefined
  /** The client certificate; null for none. */
  readonly pair: TlsPair | null
}

/**
 * Creates the source of `<prefix>_CERT`, `<prefix>_KEY` and `<prefix>_CLIENT_CA`, each from the environment or a
 * file. Null if the first two are not set. Throws SettingsError if they do not match.
 */
export function createServerTlsSource(env: NodeJS.ProcessEnv, prefix: string): FileSource<ServerTls | null> {
  const names = [`${prefix}_CERT`, `${prefix}_KEY`, `${prefix}_CLIENT_CA`] as const
  return createTextsSource(env, names, ([cert, key, ca]) => {
    const { problems, attempt } = collectProblems()
    const clientCa = attempt(() => checkTlsAuthorities(ca, `${prefix}_CLIENT_CA`))
    const pair = attempt(() => checkTlsPair({ cert, key }, prefix))
    if (pair === null && clientCa !== undefined) {
      attempt(() => refuse(`${prefix}_CLIENT_CA requires ${prefix}_CERT and ${prefix}_KEY`))
    }
    if (problems.length > 0) throw new SettingsError(problems)
    return pair ? { ...pair, clientCa } : null
  })
}

/**
 * Creates the source of `<prefix>_CERT` and `<prefix>_KEY`, each from the environment or a file. Null if neither is
 * set. Throws SettingsError if they do not match.
 */
export function createTlsPairSource(env: NodeJS.ProcessEnv, prefix: string): FileSource<TlsPair | null> {
  const names = [`${prefix}_CERT`, `${prefix}_KEY`] as const
  return createTextsSource(env, names, ([cert, key]) => checkTlsPair({ cert, key }, prefix))
}

/**
 * Creates the source of `<prefix>_CA`, `<prefix>_CLIENT_CERT` and `<prefix>_CLIENT_KEY`, each from the environment or
 * a file. Null if none is set. Throws SettingsError if they do not match.
 */
export function createClientTlsSource(env: NodeJS.ProcessEnv, prefix: string): FileSource<ClientTls | null> {
  const names = [`${prefix}_CA`, `${prefix}_CLIENT_CERT`, `${prefix}_CLIENT_KEY`] as const
  return createTextsSource(env, names, ([text, cert, key]) => {
    const { problems, attempt } = collectProblems()
    const ca = attempt(() => checkTlsAuthorities(text, `${prefix}_CA`))
    const pair = attempt(() => checkTlsPair({ cert, key }, `${prefix}_CLIENT`)) ?? null
    if (problems.length > 0) throw new SettingsError(problems)
    return ca === undefined && pair === null ? null : { ca, pair }
  })
}

export interface TlsListeners<T> {
  /** Prefix of the settings, for the log. */
  readonly prefix: string
  readonly logger: Logger
  readonly onChanged?: (tls: T) => void
}

/**
 * Watches TLS files. Logs changes and rejected content, but never the content itself.
 * @throws SettingsError if the initial content is invalid
 */
export function watchTls<T>(
  source: FileSource<T>,
  { prefix, logger, onChanged = () => undefined }: TlsListeners<T>,
): WatchedSource<T> {
  return watchSource(source, {
    onChanged: (tls) => {
      onChanged(tls)
      logger.info({ settings: prefix }, 'tls.changed')
    },
    onRefused: (problems) => logger.error({ settings: prefix, problems }, 'tls.refused'),
  })
}

function refuse(problem: string): never {
  throw new SettingsError([problem])
}

type Texts = readonly (string | undefined)[]

function createTextsSource<T>(
  env: NodeJS.ProcessEnv,
  names: readonly string[],
  check: (texts: Texts) => T,
): FileSource<T> {
  const schema = z.object(Object.fromEntries(names.map((name) => [name, textSetting().optional()])))
  const read = (): T => {
    const texts = readSettings(schema, env)
    for (const [place, text] of Object.entries(texts)) {
      if (place.endsWith('_KEY') && text !== undefined) registerSecret(env, { place, text })
    }
    return check(names.map((name) => texts[name]))
  }
  return createFileSource(read, { env, names })
}

/** A certificate chain and its private key, in PEM. */
export interface TlsPair {
  readonly cert: string
  readonly key: string
}

interface TlsPairTexts {
  readonly cert: string | undefined
  readonly key: string | undefined
}

/**
 * Validates a certificate and its key. Null if neither is set.
 * @throws SettingsError that names the setting, never a value
 */
function checkTlsPair({ cert, key }: TlsPairTexts, prefix: string): TlsPair | null {
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
function checkTlsAuthorities(text: string | undefined, name: string): string | undefined {
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

/** Whether the client presented a currently valid certificate from an authority that the listener trusts. */
export function hasTrustedCertificate({ socket }: IncomingMessage): boolean {
  return socket instanceof TLSSocket && socket.authorized
}
