import { findSignedTime, schemesWithHeaders } from '@oncehook/gateway/webhooks/providers/observe'
import { providersSchema, SCHEMES } from '@oncehook/webhooks/providers'
import { type KnownProvider, signsAddress, unusedFetch } from '../../verify/known-providers.ts'
import type { Attempt, Variation } from '../attempt.ts'
import { toLines } from './header-variations.ts'
import { readTriedSecrets, toLiveSecrets } from './secret-variations.ts'

/** Attempts with the other providers of the settings, such as the one for the test environment. */
export function otherProviderVariations(asked: KnownProvider, others: readonly KnownProvider[]): Variation[] {
  return others.flatMap((other): Variation[] => {
    const scheme = SCHEMES.get(other.settings.scheme)
    if (scheme === undefined || scheme.signsNothing === true) return []
    const secrets = toLiveSecrets(readTriedSecrets(other, scheme)).map((secret) => ({ ...secret, notAfter: null }))
    const apply: Variation['apply'] = (attempt) => ({ ...attempt, scheme, settings: other.settings, secrets })
    return [
      {
        cause: 'wrong_provider',
        message: `It is signed with a secret of the provider ${other.name}, not of ${asked.name}`,
        fix: `Deliver it to /api/webhooks/${other.name}, or check whether test and live are mixed up`,
        apply,
      },
    ]
  })
}

/** Attempts with the same secret and the other schemes whose headers are present. */
export function otherSchemeVariations(asked: KnownProvider, { delivery }: Attempt): Variation[] {
  const present = new Set(toLines(delivery.rawHeaders).map(([name]) => name))
  return schemesWithHeaders(present)
    .filter((name) => name !== asked.settings.scheme)
    .flatMap((name): Variation[] => {
      const scheme = SCHEMES.get(name)
      const settings = settingsFor(name, asked)
      if (scheme === undefined || settings === undefined) return []
      const secrets = toLiveSecrets(readTriedSecrets({ ...asked, settings }, scheme))
      if (secrets.length === 0) return []
      const signedAt = findSignedTime(settings, delivery)?.ms
      return [
        {
          cause: 'wrong_scheme',
          message: `It is signed with the scheme ${name}, but the settings have ${asked.settings.scheme}`,
          fix: `Set "scheme": "${name}"`,
          // The age of the delivery does not matter for its scheme.
          apply: (attempt) => ({ ...attempt, scheme, settings, secrets, now: signedAt ?? attempt.now }),
        },
      ]
    })
}

function settingsFor(scheme: string, { settings }: KnownProvider): KnownProvider['settings'] | undefined {
  const { publicUrl } = settings as { readonly publicUrl?: string }
  const entry = {
    scheme,
    secrets: settings.secrets,
    ...(signsAddress(scheme) ? { publicUrl: publicUrl ?? 'https://example.com' } : {}),
    ...unusedFetch(scheme),
  }
  return providersSchema.safeParse({ other: entry }).data?.other
}
