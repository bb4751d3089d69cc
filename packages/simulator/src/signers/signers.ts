import { hmac } from './hmac.ts'
import type { Signer } from './signer.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'

/** Every scheme the simulator can sign, by the name it has in the gateway's `PROVIDERS`. A new one is one line here. */
export const signers: ReadonlyMap<string, Signer> = new Map([
  ['standard-webhooks', standardWebhooks],
  ['stripe', stripe],
  ['hmac', hmac],
])
