import type { FileSource } from './file-source.ts'
import type { Logger } from './logger.ts'
import type { ServiceKey } from './service-keys.ts'
import { type WatchedSource, watchSource } from './watch-source.ts'

/** How often files of keys are compared, in milliseconds. */
export const CHECK_KEYS_MS = 1_000

/** The keys of service tokens that count now. */
export type WatchedServiceKeys = WatchedSource<readonly ServiceKey[]>

/**
 * Reads the keys of service tokens and follows their files; a change is logged by the number of keys.
 * @throws SettingsError when the first content is wrong
 */
export function watchServiceKeys(source: FileSource<readonly ServiceKey[]>, logger: Logger): WatchedServiceKeys {
  return watchSource(source, {
    onChanged: (keys) => logger.info({ keys: keys.length }, 'service-keys.changed'),
    onRefused: (problems) => logger.error({ problems }, 'service-keys.refused'),
  })
}
