import type { Logger } from '@oncehook/kernel/logger'
import { SettingsError } from '@oncehook/kernel/settings'
import type { ProvidersSource } from './providers-source.ts'
import type { Providers } from './read-providers.ts'

/** The providers that count now; they follow their files without a restart. */
export interface WatchedProviders {
  current(): Providers
  /** Looks whether a file has changed. A content that is wrong is refused and told once; what counted before stays. */
  check(): void
}

/**
 * Reads the providers and follows them. Files are compared by content and not by events of the file system, which are
 * lost with mounted secrets and replaced files.
 * @throws SettingsError when the first content is wrong
 */
export function watchProviders(source: ProvidersSource, logger: Logger): WatchedProviders {
  let current = source.read()
  let seen = source.fingerprint()
  return {
    current: () => current,
    check() {
      const fingerprint = source.fingerprint()
      if (fingerprint === seen) return
      seen = fingerprint
      try {
        current = source.read()
        // Once more: a secret file that was named for the first time has only now become part of it.
        seen = source.fingerprint()
        logger.info({ providers: [...current.keys()] }, 'providers.changed')
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error
        logger.error({ problems: error.problems }, 'providers.refused')
      }
    },
  }
}
