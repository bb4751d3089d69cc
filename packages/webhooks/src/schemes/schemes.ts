import { adyen } from './adyen/adyen.ts'
import { adyenPlatform } from './adyen/adyen-platform.ts'
import { genericHmac } from './generic/hmac.ts'
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
import type { Scheme } from './scheme.ts'
import { discord } from './services/discord.ts'
import { fusionauth } from './services/fusionauth.ts'
import { github } from './services/github.ts'
import { gitlab } from './services/gitlab.ts'
import { sendgrid } from './services/sendgrid.ts'
import { slack } from './services/slack.ts'
import { twilio } from './services/twilio.ts'
import { x } from './services/x.ts'
import { zoom } from './services/zoom.ts'

const ALL: readonly Scheme[] = [
  adyen,
  adyenPlatform,
  cashfree,
  checkout,
  discord,
  flutterwave,
  fusionauth,
  github,
  gitlab,
  gocardless,
  genericHmac,
  hook0,
  lemonsqueezy,
  mercadopago,
  mollie,
  mollieClassic,
  paddle,
  paypal,
  razorpay,
  sendgrid,
  shopify,
  slack,
  square,
  standardWebhooks,
  stripe,
  twilio,
  woocommerce,
  x,
  zoom,
]

/** All schemes by their names in the settings. */
export const SCHEMES: ReadonlyMap<string, Scheme> = new Map(ALL.map((scheme) => [scheme.name, scheme]))
