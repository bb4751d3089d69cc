import type { ProviderSources } from '../webhooks/providers/providers.ts'

/** All schemes, the default limits, and no file or variable to read secrets from. */
export const PROVIDER_SOURCES: ProviderSources = {
  readEnv: () => undefined,
  readFile: () => '',
  maxBytes: 1_048_576,
  toleranceSeconds: 300,
}
