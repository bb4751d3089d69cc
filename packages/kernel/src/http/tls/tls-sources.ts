import { z } from 'zod'
import { createFileSource, type FileSource } from '../../file-source.ts'
import type { Logger } from '../../logger.ts'
import { collectProblems, readSettings, SettingsError, textSetting } from '../../settings.ts'
import { type WatchedSource, watchSource } from '../../watch-source.ts'
import { checkTlsAuthorities, checkTlsPair, type TlsPair } from './tls-files.ts'

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

/** Interval between file comparisons, in milliseconds. */
export const CHECK_TLS_MS = 1_000

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

/** Dependencies of the watch on TLS files. */
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
    return check(names.map((name) => texts[name]))
  }
  return createFileSource(read, { env, names })
}
