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
  let { seen, providers } = readSettled(source)
  return {
    current: () => providers,
    check() {
      const fingerprint = source.fingerprint()
      if (fingerprint === seen) return
      seen = fingerprint
      try {
        ;({ seen, providers } = readSettled(source))
        logger.info({ providers: [...providers.keys()] }, 'providers.changed')
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error
        logger.error({ problems: error.problems }, 'providers.refused')
      }
    },
  }
}

const MOST_READS = 5

/**
 * Reads until the files are the same after as before: one that was written meanwhile would otherwise count as read, and a
 * secret file that was named for the first time has only then become part of what is compared.
 */
function readSettled(source: ProvidersSource): { seen: string; providers: Providers } {
  for (let reads = 1; ; reads += 1) {
    const seen = source.fingerprint()
    const providers = source.read()
    if (seen === source.fingerprint() || reads === MOST_READS) return { seen, providers }
  }
}
