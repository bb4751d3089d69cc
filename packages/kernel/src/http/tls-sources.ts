import { z } from 'zod'
import { createFileSource, type FileSource } from '../file-source.ts'
import type { Logger } from '../logger.ts'
import { collectProblems, readSettings, SettingsError, textSetting } from '../settings.ts'
import { type WatchedSource, watchSource } from '../watch-source.ts'
import { checkTlsAuthorities, checkTlsPair, type TlsPair } from './tls-files.ts'

/** What a listener needs for https, in PEM. */
export interface ServerTls extends TlsPair {
  /** The authorities of client certificates; undefined: none is asked for. */
  readonly clientCa?: string | undefined
}

/** What a caller needs for https, in PEM. */
export interface ClientTls {
  /** The authorities that are trusted; undefined: those of Node. */
  readonly ca: string | undefined
  /** The certificate that the caller shows; null: none. */
  readonly pair: TlsPair | null
}

/** How often the files are compared, in milliseconds. */
export const CHECK_TLS_MS = 1_000

/**
 * Creates the source of `<prefix>_CERT`, `<prefix>_KEY` and `<prefix>_CLIENT_CA`, each set by itself or by a file; null
 * where the first two are not set. It throws SettingsError for what does not fit together.
 */
export function createServerTlsSource(env: NodeJS.ProcessEnv, prefix: string): FileSource<ServerTls | null> {
  const names = [`${prefix}_CERT`, `${prefix}_KEY`, `${prefix}_CLIENT_CA`] as const
  return createTextsSource(env, names, ([cert, key, ca]) => {
    const { problems, attempt } = collectProblems()
    const clientCa = attempt(() => checkTlsAuthorities(ca, `${prefix}_CLIENT_CA`))
    const pair = attempt(() => checkTlsPair({ cert, key }, prefix))
    if (pair === null && clientCa !== undefined) {
      attempt(() => refuse(`${prefix}_CLIENT_CA needs ${prefix}_CERT and ${prefix}_KEY beside it`))
    }
    if (problems.length > 0) throw new SettingsError(problems)
    return pair ? { ...pair, clientCa } : null
  })
}

/**
 * Creates the source of `<prefix>_CERT` and `<prefix>_KEY`, each set by itself or by a file; null where neither is set. It
 * throws SettingsError for what does not fit together.
 */
export function createTlsPairSource(env: NodeJS.ProcessEnv, prefix: string): FileSource<TlsPair | null> {
  const names = [`${prefix}_CERT`, `${prefix}_KEY`] as const
  return createTextsSource(env, names, ([cert, key]) => checkTlsPair({ cert, key }, prefix))
}

/**
 * Creates the source of `<prefix>_CA`, `<prefix>_CLIENT_CERT` and `<prefix>_CLIENT_KEY`, each set by itself or by a file;
 * null where none is set. It throws SettingsError for what does not fit together.
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

/** Who is told of a change of TLS files. */
export interface TlsListeners<T> {
  /** What the names of the settings begin with, for the log. */
  readonly prefix: string
  readonly logger: Logger
  readonly onChanged?: (tls: T) => void
}

/**
 * Follows the files of TLS; a change and a refused content are logged, never what is in them.
 * @throws SettingsError when the first content is wrong
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
  const files = names.map((name) => env[`${name}_FILE`])
  return createFileSource(() => {
    const texts = readSettings(schema, env)
    return check(names.map((name) => texts[name]))
  }, files)
}
