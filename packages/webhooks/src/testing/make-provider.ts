import { createProvider } from '../create-provider.ts'
import type { Delivery, VerifiedDelivery } from '../delivery.ts'
import { PAYMENT_EVENT_TYPES, type WebhookEvent } from '../event.ts'
import type { PrepareExplanation } from '../explanation.ts'
import type { Provider } from '../provider.ts'
import { SCHEMES } from '../schemes/schemes.ts'
import { parseProvidersSettings } from './providers-settings.ts'

/** A secret of a provider under test; `notAfter` is ISO 8601. */
interface TestSecret {
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
 * Makes a provider from settings that are checked as at the start of a gateway. Short secrets are allowed: published
 * examples use them. A scheme that requires effects gets both.
 */
export function makeProvider(
  { settings, secrets }: ProviderUnderTest,
  prepareExplanation?: PrepareExplanation,
): Provider {
  const named = secrets.map((secret, index) => ({ id: `s${index + 1}`, ...secret }))
  const { acme } = parseProvidersSettings({
    acme: { acceptShortSecret: true, ...demandedSettings(settings.scheme), ...settings, secrets: named },
  })
  if (acme === undefined) throw new Error('The provider was not read')
  const secretTexts = secrets.map(({ value }) => value)
  const source = { name: 'acme', settings: acme, secretTexts, maxBytes: 1_048_576 }
  const provider = createProvider(source, prepareExplanation)
  if ('problems' in provider) throw new Error(provider.problems.join('\n'))
  return provider
}

/** The settings besides secrets that a scheme requires. Most schemes require none. */
export function demandedSettings(scheme: string): object {
  return SCHEMES.get(scheme)?.permits.effects === null ? { effects: PAYMENT_EVENT_TYPES } : {}
}

/** The event of a delivery that has exactly one. */
export function onlyEvent(events: readonly WebhookEvent[]): WebhookEvent {
  const [event] = events
  if (event === undefined || events.length > 1) throw new Error(`The delivery reports ${events.length} events`)
  return event
}

/** A delivery that is treated as authentic, for tests of what follows the check. */
export function asVerified(
  delivery: Delivery & { readonly secretId: string; readonly signedId?: string },
): VerifiedDelivery {
  return delivery as VerifiedDelivery
}
