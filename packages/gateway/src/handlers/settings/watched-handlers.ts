import type { Logger } from '@oncehook/kernel/log/logger'
import { type FileSource, type WatchedSource, watchSource } from '@oncehook/kernel/settings/file-source'
import type { Handlers } from './read-handlers.ts'

/** The current handlers. They follow changes of their files without a restart. */
export type WatchedHandlers = WatchedSource<Handlers>

/** Where changes are reported. */
export interface WatchHandlersOptions {
  readonly logger: Logger
  /** Called after a change, before the next event is stored. */
  readonly onChanged: (handlers: Handlers) => void
}

/**
 * Reads the handlers and follows their files.
 * @throws SettingsError when the first content is wrong
 */
export function watchHandlers(
  source: FileSource<Handlers>,
  { logger, onChanged }: WatchHandlersOptions,
): WatchedHandlers {
  return watchSource(source, {
    onChanged(handlers) {
      logger.info({ handlers: [...handlers.keys()] }, 'handlers.changed')
      onChanged(handlers)
    },
    onRefused: (problems) => logger.error({ problems }, 'handlers.refused'),
  })
}
