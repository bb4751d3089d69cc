// The keys of service tokens: Ed25519, and nothing else. The gateway has the private key. Every other side has public keys, with which
// it can check tokens but make none. So neither a handler nor fulfilment can pass for the gateway. The files are watched: keys are
// exchanged without a restart, first the public ones, then the private one.
import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { Logger } from '../log/logger.ts'
import { createFileSource, type FileSource, type WatchedSource, watchSource } from '../settings/file-source.ts'
import { readSettings, SettingsError, textSetting } from '../settings/settings.ts'
import { registerSecret } from './secret-register.ts'
import { parsePrivateKey, parsePublicKeys } from './service-key-pem.ts'

/** The setting of the gateway: the key that signs. */
export const privateKeySetting = { SERVICE_PRIVATE_KEY: textSetting() }

/** The setting of fulfilment: the keys that verify. */
export const publicKeysSetting = { SERVICE_PUBLIC_KEYS: textSetting() }

export function createPrivateKeySource(env: NodeJS.ProcessEnv): FileSource<KeyObject> {
  const read = (): KeyObject => {
    const { SERVICE_PRIVATE_KEY: pem } = readSettings(z.object(privateKeySetting), env)
    registerSecret(env, { place: 'SERVICE_PRIVATE_KEY', text: pem })
    return orThrow('SERVICE_PRIVATE_KEY', parsePrivateKey(pem))
  }
  return createFileSource(read, { env, names: ['SERVICE_PRIVATE_KEY'] })
}

export function createPublicKeysSource(env: NodeJS.ProcessEnv): FileSource<readonly KeyObject[]> {
  const read = (): readonly KeyObject[] => {
    const { SERVICE_PUBLIC_KEYS: pem } = readSettings(z.object(publicKeysSetting), env)
    return orThrow('SERVICE_PUBLIC_KEYS', parsePublicKeys(pem))
  }
  return createFileSource(read, { env, names: ['SERVICE_PUBLIC_KEYS'] })
}

function orThrow<Key>(name: string, parsed: Key | string): Key {
  if (typeof parsed === 'string') throw new SettingsError([`${name} ${parsed}`])
  return parsed
}

/**
 * Reads keys of service tokens and watches their files. Logs each change.
 * @throws SettingsError if the initial content is invalid
 */
export function watchServiceKeys<Keys>(source: FileSource<Keys>, logger: Logger): WatchedSource<Keys> {
  return watchSource(source, {
    onChanged: () => logger.info('service-keys.changed'),
    onRefused: (problems) => logger.error({ problems }, 'service-keys.refused'),
  })
}
