// The keys of service tokens as the settings name them: one secret, or a list in which the first one signs and all verify. Their files are
// watched, so that keys are exchanged without a restart.
import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { Logger } from '../log/logger.ts'
import { createFileSource, type FileSource, type WatchedSource, watchSource } from '../settings/file-source.ts'
import { collectProblems, readSettings, SettingsError, textSetting } from '../settings/settings.ts'
import { readTextSource, type TextSources, textSource } from '../settings/text-source.ts'
import { parseServiceKey, parseServiceSecret, privateKeyProblem } from './parse-service-key.ts'

const MOST_KEYS = 5

/** A key of service tokens: a shared secret, or one key of a key pair. */
export interface ServiceKey {
  readonly algorithm: 'HS256' | 'EdDSA'
  /** Null: this key only verifies. */
  readonly signing: KeyObject | null
  readonly verifying: KeyObject
}

/** How a service uses its keys: the gateway signs with the first, fulfilment verifies with all of them. */
export type KeyUse = 'sign' | 'verify'

/** The settings of the keys. Either may be left out. */
export const serviceKeySettings = {
  SERVICE_TOKEN_SECRET: textSetting().optional(),
  SERVICE_TOKEN_SECRETS: textSetting().optional(),
}

/**
 * Creates the source of the keys: `SERVICE_TOKEN_SECRETS`, or `SERVICE_TOKEN_SECRET` for a single one, and the files
 * they name.
 */
export function createServiceKeysSource(env: NodeJS.ProcessEnv, use: KeyUse): FileSource<readonly ServiceKey[]> {
  const own = { env, names: Object.keys(serviceKeySettings) }
  return createFileSource((readFile) => {
    const { SERVICE_TOKEN_SECRET: one, SERVICE_TOKEN_SECRETS: list } = readSettings(z.object(serviceKeySettings), env)
    if (one !== undefined && list !== undefined) {
      throw new SettingsError(['SERVICE_TOKEN_SECRETS and SERVICE_TOKEN_SECRET are both set: keep one'])
    }
    const sources = { readFile, readEnv: (name: string) => env[name] }
    return list === undefined
      ? [keyOf('SERVICE_TOKEN_SECRET', one === undefined ? 'is not set' : parseServiceSecret(one))]
      : readKeys(list, { sources, use })
  }, own)
}

interface Reading {
  readonly sources: TextSources
  readonly use: KeyUse
}

function readKeys(json: string, reading: Reading): ServiceKey[] {
  const { problems, attempt } = collectProblems()
  const places = new Map<string, string>()
  const keys = parseList(json).flatMap((entry, index) => {
    const key = attempt(() => readKey(entry, { ...reading, index, places }))
    return key === undefined ? [] : [key]
  })
  if (problems.length > 0) throw new SettingsError(problems)
  return keys
}

interface Entry extends Reading {
  readonly index: number
  /** The texts so far, with the setting that contains each. */
  readonly places: Map<string, string>
}

function readKey(entry: z.output<typeof textSource>, { sources, use, index, places }: Entry): ServiceKey {
  const name = `SERVICE_TOKEN_SECRETS.${index}`
  const text = readTextSource(entry, sources)
  if (text === null) throw new SettingsError([`${name} cannot be read`])
  const key = keyOf(name, parseServiceKey(text))
  const problem = useProblem(key, { use, first: index === 0 })
  if (problem !== null) throw new SettingsError([`${name} ${problem}`])
  const twin = places.get(text)
  if (twin !== undefined) throw new SettingsError([`${name} is the same as ${twin}`])
  places.set(text, name)
  return key
}

const listShape = z.array(textSource).min(1).max(MOST_KEYS)

function parseList(json: string): z.output<typeof listShape> {
  try {
    return listShape.parse(JSON.parse(json))
  } catch {
    // Both error messages could quote a secret.
    const entry = 'a secret, { "file": "<path>" } or { "env": "<NAME>" }'
    throw new SettingsError([`SERVICE_TOKEN_SECRETS must be a JSON array of 1 to ${MOST_KEYS} entries, each ${entry}`])
  }
}

function keyOf(name: string, parsed: ServiceKey | string): ServiceKey {
  if (typeof parsed === 'string') throw new SettingsError([`${name} ${parsed}`])
  return parsed
}

function useProblem(key: ServiceKey, { use, first }: { use: KeyUse; first: boolean }): string | null {
  if (use === 'verify') return privateKeyProblem(key, 'fulfilment')
  return first && key.signing === null
    ? 'is a public key, but the first entry signs: use a private key or a secret'
    : null
}

/** Interval between comparisons of the key files, in milliseconds. */
export const CHECK_KEYS_MS = 1_000

export type WatchedServiceKeys = WatchedSource<readonly ServiceKey[]>

/**
 * Reads the keys of service tokens and watches their files. Logs a change with the number of keys.
 * @throws SettingsError if the initial content is invalid
 */
export function watchServiceKeys(source: FileSource<readonly ServiceKey[]>, logger: Logger): WatchedServiceKeys {
  return watchSource(source, {
    onChanged: (keys) => logger.info({ keys: keys.length }, 'service-keys.changed'),
    onRefused: (problems) => logger.error({ problems }, 'service-keys.refused'),
  })
}
