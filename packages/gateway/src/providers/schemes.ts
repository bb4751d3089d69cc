import { genericHmac } from './hmac.ts'
import type { ProviderSettings } from './provider-settings.ts'
import type { Scheme } from './scheme.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'

/** Every way to sign that the gateway knows, by its name in the settings. */
export const SCHEMES: Readonly<Record<ProviderSettings['scheme'], Scheme>> = {
  'standard-webhooks': standardWebhooks,
  stripe,
  hmac: genericHmac,
}
