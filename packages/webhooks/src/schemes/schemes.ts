import { PRESETS } from '../presets/presets.ts'
import { adyen } from './adyen/adyen.ts'
import { appStore } from './app-store/app-store.ts'
import { braintree } from './braintree/braintree.ts'
import { genericHmac } from './generic/hmac.ts'
import { hook0 } from './generic/hook0.ts'
import { standardWebhooks } from './generic/standard-webhooks.ts'
import { mollie } from './mollie/mollie.ts'
import { mollieClassic } from './mollie/mollie-classic.ts'
import { flutterwave } from './payments/flutterwave.ts'
import { gocardless } from './payments/gocardless.ts'
import { mercadopago } from './payments/mercadopago.ts'
import { shopify } from './payments/shopify.ts'
import { stripe } from './payments/stripe.ts'
import { woocommerce } from './payments/woocommerce.ts'
import { paypal } from './paypal/paypal.ts'
import { plaid } from './plaid/plaid.ts'
import { presetScheme } from './preset-scheme.ts'
import type { Scheme } from './scheme.ts'
import { discord } from './services/discord.ts'
import { docusign } from './services/docusign.ts'
import { fusionauth } from './services/fusionauth.ts'
import { github } from './services/github.ts'
import { gitlab } from './services/gitlab.ts'
import { hubspot } from './services/hubspot.ts'
import { meta } from './services/meta.ts'
import { sendgrid } from './services/sendgrid.ts'
import { slack } from './services/slack.ts'
import { sns } from './services/sns.ts'
import { twilio } from './services/twilio.ts'
import { wise } from './services/wise.ts'
import { x } from './services/x.ts'
import { zoom } from './services/zoom.ts'

const ALL: readonly Scheme[] = [
  ...PRESETS.map((preset) => presetScheme(preset)),
  adyen,
  appStore,
  braintree,
  discord,
  docusign,
  flutterwave,
  fusionauth,
  github,
  gitlab,
  gocardless,
  genericHmac,
  hook0,
  hubspot,
  mercadopago,
  meta,
  mollie,
  mollieClassic,
  paypal,
  plaid,
  sendgrid,
  shopify,
  slack,
  sns,
  standardWebhooks,
  stripe,
  twilio,
  wise,
  woocommerce,
  x,
  zoom,
]

/** All schemes by their names in the settings, in their order. */
export const SCHEMES: ReadonlyMap<string, Scheme> = new Map(
  ALL.map((scheme) => [scheme.name, scheme] as const).toSorted(([one], [other]) => (one < other ? -1 : 1)),
)
