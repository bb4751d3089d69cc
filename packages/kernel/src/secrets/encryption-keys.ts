import { createSecretKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { Logger } from '../log/logger.ts'
import { createFileSource, type FileSource, type WatchedSource, watchSource } from '../settings/file-source.ts'
import { collectProblems, parseSettingsJson, readSettings, SettingsError, textSetting } from '../settings/settings.ts'
import { readTextSource, type TextSources, textSource, textsOf } from '../settings/text-source.ts'

/** The keys of encryption at rest: the first one encrypts; each one decrypts what it has encrypted. */
export interface EncryptionKeys {
  readonly first: { readonly id: string; readonly key: KeyObject }
  /** All of them, the first included. */
  readonly byId: ReadonlyMap<string, KeyObject>
}

/** The setting that the keys come from. It may be left out: then nothing is encrypted. */
export const encryptionKeySettings = { ENCRYPTION_KEYS: textSetting().optional() }

const KEY_BYTES = 32
const MOST_KEYS = 16

/** Creates the source of `ENCRYPTION_KEYS` and of the files that it names; null where it is not set. */
export function createEncryptionKeysSource(env: NodeJS.ProcessEnv): FileSource<EncryptionKeys | null> {
  return createFileSource(
    (readFile) => {
      const { ENCRYPTION_KEYS: json } = readSettings(z.object(encryptionKeySettings), env)
      return json === undefined ? null : readKeys(json, textsOf(env, readFile))
    },
    { env, names: ['ENCRYPTION_KEYS'] },
  )
}

/**
 * Reads the keys, null where nothing is encrypted, and follows their files. A change is logged by the ids; a wrong content is refused with an error in the log,
 * and the keys stay what they were.
 * @throws SettingsError when the first content is wrong
 */
export function watchEncryptionKeys(
  source: FileSource<EncryptionKeys | null>,
  logger: Logger,
): WatchedSource<EncryptionKeys | null> {
  return watchSource(source, {
    onChanged: (keys) =>
      logger.info({ first: keys?.first.id ?? null, keys: [...(keys?.byId.keys() ?? [])] }, 'encryption-keys.changed'),
    onRefused: (problems) => logger.error({ problems }, 'encryption-keys.refused'),
  })
}

const listShape = z.record(z.string(), textSource)

function readKeys(json: string, sources: TextSources): EncryptionKeys {
  const parsed = listShape.safeParse(parseSettingsJson('ENCRYPTION_KEYS', json))
  const entries = Object.entries(parsed.data ?? {})
  if (entries.length < 1 || entries.length > MOST_KEYS) {
    const value = 'the base64 of 32 bytes, { "file": "<path>" } or { "env": "<NAME>" }'
    throw new SettingsError([`ENCRYPTION_KEYS must be a JSON object of 1 to ${MOST_KEYS} entries: id -> ${value}`])
  }
  const { problems, attempt } = collectProblems()
  const byId = new Map<string, KeyObject>()
  for (const [index, [id, source]] of entries.entries()) {
    const text = readTextSource(source, sources)
    const key = attempt(() => readKey({ id, index, text, byId }))
    if (key === undefined) continue
    byId.set(id, key)
    sources.onSecret?.(`ENCRYPTION_KEYS.${id}`, text ?? '')
  }
  const [first] = byId
  if (problems.length > 0 || first === undefined) throw new SettingsError(problems)
  return { first: { id: first[0], key: first[1] }, byId }
}

interface Entry {
  readonly id: string
  readonly index: number
  /** Null where it cannot be read. */
  readonly text: string | null
  readonly byId: ReadonlyMap<string, KeyObject>
}

// Shorter than a key: one that was put in the place of its id is not shown.
const ID = /^[A-Za-z0-9._-]{1,32}$/
// Properties whose names are whole numbers come first, whatever the order in the file.
const WHOLE_NUMBER = /^\d+$/
const BASE64 = /^[A-Za-z0-9+/]{43}=$/

function readKey({ id, index, text, byId }: Entry): KeyObject {
  if (!ID.test(id) || WHOLE_NUMBER.test(id)) {
    const rule = '1 to 32 characters of A-Z, a-z, 0-9 and . _ -, and not a whole number'
    throw new SettingsError([`ENCRYPTION_KEYS: the id of entry ${index + 1} must be ${rule}`])
  }
  const name = `ENCRYPTION_KEYS.${id}`
  if (text === null) throw new SettingsError([`${name} cannot be read`])
  const bytes = BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (bytes.length !== KEY_BYTES) {
    throw new SettingsError([`${name} is not the base64 of ${KEY_BYTES} bytes (openssl rand -base64 ${KEY_BYTES})`])
  }
  if (new Set(bytes).size === 1) throw new SettingsError([`${name} is a sample placeholder`])
  const key = createSecretKey(bytes)
  const [twin] = [...byId].find(([, other]) => other.equals(key)) ?? []
  if (twin !== undefined) throw new SettingsError([`${name} is the same as ENCRYPTION_KEYS.${twin}`])
  return key
}
