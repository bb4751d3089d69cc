import { createProvider, type Provider } from '../providers/provider.ts'
import { providerSettings } from '../providers/provider-settings.ts'

/** A secret of a provider under test; `notAfter` is ISO 8601. */
export interface TestSecret {
  readonly value: string
  readonly notAfter?: string
}

/** A provider under test: its settings as in `PROVIDERS`, without the secrets. */
export interface ProviderUnderTest {
  readonly settings: Readonly<Record<string, unknown>> & { readonly scheme: string }
  /** Their ids are `s1`, `s2`, `s3`. */
  readonly secrets: readonly TestSecret[]
}

/**
 * Makes a provider from settings that are checked as at the start of a gateway. Short secrets are let pass: published
 * examples use them.
 */
export function makeProvider({ settings, secrets }: ProviderUnderTest): Provider {
  const parsed = providerSettings.parse({
    acceptShortSecret: true,
    ...settings,
    secrets: secrets.map((secret, index) => ({ id: `s${index + 1}`, ...secret })),
  })
  const secretTexts = secrets.map(({ value }) => value)
  const provider = createProvider({ name: 'acme', settings: parsed, secretTexts, maxBytes: 1_048_576 })
  if ('problems' in provider) throw new Error(provider.problems.join('\n'))
  return provider
}
