import { PRESETS } from '../presets/presets.ts'
import { DOCUSIGN, HUBSPOT, META, SLACK, X, ZOOM } from '../presets/services.ts'
import { adyen } from './adyen/adyen.ts'
import { hmac } from './generic/hmac.ts'
import { hook0 } from './generic/hook0.ts'
import { standardWebhooks } from './generic/standard-webhooks.ts'
import { braintree } from './payments/braintree.ts'
import { flutterwave } from './payments/flutterwave.ts'
import { gocardless } from './payments/gocardless.ts'
import { mercadopago } from './payments/mercadopago.ts'
import { mollie, mollieClassic } from './payments/mollie.ts'
import { shopify } from './payments/shopify.ts'
import { stripe } from './payments/stripe.ts'
import { woocommerce } from './payments/woocommerce.ts'
import { paypal } from './paypal/paypal.ts'
import { presetSigner } from './preset-signer.ts'
import { appStore } from './services/app-store.ts'
import { discord } from './services/discord.ts'
import { fusionauth } from './services/fusionauth.ts'
import { github } from './services/github.ts'
import { gitlab } from './services/gitlab.ts'
import { plaid } from './services/plaid.ts'
import { sendgrid } from './services/sendgrid.ts'
import { sns } from './services/sns.ts'
import { twilio } from './services/twilio.ts'
import { wise } from './services/wise.ts'
import type { Signer } from './signer.ts'

/** The signers of all schemes, by their names in the gateway's `PROVIDERS`. A scheme with code gets a line here. */
export const signers: ReadonlyMap<string, Signer> = new Map<string, Signer>([
  ['standard-webhooks', standardWebhooks],
  ['stripe', stripe],
  ['hmac', hmac],
  ['adyen', adyen],
  ['app-store', appStore],
  ['braintree', braintree],
  ['discord', discord],
  ['flutterwave', flutterwave],
  ['fusionauth', fusionauth],
  ['github', github],
  ['gitlab', gitlab],
  ['gocardless', gocardless],
  ['hook0', hook0],
  ['mercadopago', mercadopago],
  ['mollie', mollie],
  ['mollie-classic', mollieClassic],
  ['paypal', paypal],
  ['plaid', plaid],
  ['sendgrid', sendgrid],
  ['shopify', shopify],
  ['sns', sns],
  ['twilio', twilio],
  ['wise', wise],
  ['woocommerce', woocommerce],
  ...[...PRESETS, DOCUSIGN, HUBSPOT, META, SLACK, X, ZOOM].map(
    (preset) => [preset.name, presetSigner(preset)] as const,
  ),
])
