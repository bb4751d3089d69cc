import type { Logger } from '@oncehook/kernel/log/logger'
import { type FileSource, type WatchedSource, watchSource } from '@oncehook/kernel/settings/file-source'
import type { Providers } from './read-providers.ts'

/** The current providers. They follow changes of their files without a restart. */
export type WatchedProviders = WatchedSource<Providers>

/**
 * Reads the providers and follows their files.
 * @throws SettingsError when the first content is wrong
 */
export function watchProviders(source: FileSource<Providers>, logger: Logger): WatchedProviders {
  const watched = watchSource(source, {
    onChanged(providers) {
      logger.info({ providers: [...providers.keys()] }, 'providers.changed')
      warnOfSettings(providers, logger)
    },
    onRefused: (problems) => logger.error({ problems }, 'providers.refused'),
  })
  warnOfSettings(watched.current(), logger)
  return watched
}

function warnOfSettings(providers: Providers, logger: Logger): void {
  warnOfUnsaidOrigins(providers, logger)
  warnOfUnsureAmounts(providers, logger)
}

/** A success without an amount has no effect where one is required: a type that the preset does not know may have none. */
function warnOfUnsureAmounts(providers: Providers, logger: Logger): void {
  for (const { name, scheme, unsureAmounts: types } of providers.values()) {
    if (types.length === 0) continue
    const add = '"requireAmount": true if these types always name an amount, or "requireAmount": false'
    logger.warn({ provider: name, scheme, types, add }, 'provider.amount-required')
  }
}

/** One signing key may serve several accounts, or test and live mode: then only the signed document distinguishes them. */
function warnOfUnsaidOrigins(providers: Providers, logger: Logger): void {
  for (const { name, scheme, unsaidOrigin: properties } of providers.values()) {
    if (properties.length === 0) continue
    const example = properties.map((pointer) => `"${pointer}": …`).join(', ')
    const add = `"expect": { ${example} } with your values, or "expect": {} if any value counts`
    logger.warn({ provider: name, scheme, properties, add }, 'provider.origin-unchecked')
  }
}
