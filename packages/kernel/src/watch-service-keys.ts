import type { FileSource } from './file-source.ts'
import type { Logger } from './logger.ts'
import type { ServiceKey } from './service-keys.ts'
import { type WatchedSource, watchSource } from './watch-source.ts'

/** Interval between comparisons of the key files, in milliseconds. */
export const CHECK_KEYS_MS = 1_000

/** The current keys of service tokens. */
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
