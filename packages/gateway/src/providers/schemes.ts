import { genericHmac } from './hmac.ts'
import type { Scheme } from './scheme.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'

/** Every way to sign that the gateway knows, by its name in the settings. */
export const SCHEMES: ReadonlyMap<string, Scheme> = new Map(
  [standardWebhooks, stripe, genericHmac].map((scheme) => [scheme.name, scheme]),
)
