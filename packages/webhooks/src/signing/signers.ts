import { adyen } from './adyen/adyen.ts'
import { adyenPlatform } from './adyen/adyen-platform.ts'
import { hmac } from './generic/hmac.ts'
import { hook0 } from './generic/hook0.ts'
import { standardWebhooks } from './generic/standard-webhooks.ts'
import { mollie } from './mollie/mollie.ts'
import { mollieClassic } from './mollie/mollie-classic.ts'
import { cashfree } from './payments/cashfree.ts'
import { checkout } from './payments/checkout.ts'
import { flutterwave } from './payments/flutterwave.ts'
import { gocardless } from './payments/gocardless.ts'
import { lemonsqueezy } from './payments/lemonsqueezy.ts'
import { mercadopago } from './payments/mercadopago.ts'
import { paddle } from './payments/paddle.ts'
import { razorpay } from './payments/razorpay.ts'
import { shopify } from './payments/shopify.ts'
import { square } from './payments/square.ts'
import { stripe } from './payments/stripe.ts'
import { woocommerce } from './payments/woocommerce.ts'
import { paypal } from './paypal/paypal.ts'
import { discord } from './services/discord.ts'
import { fusionauth } from './services/fusionauth.ts'
import { github } from './services/github.ts'
import { gitlab } from './services/gitlab.ts'
import { sendgrid } from './services/sendgrid.ts'
import { slack } from './services/slack.ts'
import { twilio } from './services/twilio.ts'
import { x } from './services/x.ts'
import { zoom } from './services/zoom.ts'
import type { Signer } from './signer.ts'

/** The signers of all schemes, by their names in the gateway's `PROVIDERS`. A new scheme gets a line here. */
export const signers: ReadonlyMap<string, Signer> = new Map<string, Signer>([
  ['standard-webhooks', standardWebhooks],
  ['stripe', stripe],
  ['hmac', hmac],
  ['adyen', adyen],
  ['adyen-platform', adyenPlatform],
  ['cashfree', cashfree],
  ['checkout', checkout],
  ['discord', discord],
  ['flutterwave', flutterwave],
  ['fusionauth', fusionauth],
  ['github', github],
  ['gitlab', gitlab],
  ['gocardless', gocardless],
  ['hook0', hook0],
  ['lemonsqueezy', lemonsqueezy],
  ['mercadopago', mercadopago],
  ['mollie', mollie],
  ['mollie-classic', mollieClassic],
  ['paddle', paddle],
  ['paypal', paypal],
  ['razorpay', razorpay],
  ['sendgrid', sendgrid],
  ['shopify', shopify],
  ['slack', slack],
  ['square', square],
  ['twilio', twilio],
  ['woocommerce', woocommerce],
  ['x', x],
  ['zoom', zoom],
])
