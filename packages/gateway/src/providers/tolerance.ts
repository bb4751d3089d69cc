import type { ProviderSettings } from './provider-settings.ts'

/** How far a timestamp may be away, in seconds, where neither the provider's settings nor the gateway's say. */
export const DEFAULT_TOLERANCE_SECONDS = 300

/** The time window of a provider, in seconds, on both sides of now. */
export function toleranceOf({ toleranceSeconds }: ProviderSettings): number {
  return toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS
}
