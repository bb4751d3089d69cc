import { adyen } from './adyen.ts'
import { adyenPlatform } from './adyen-platform.ts'
import { cashfree } from './cashfree.ts'
import { checkout } from './checkout.ts'
import { discord } from './discord.ts'
import { flutterwave } from './flutterwave.ts'
import { fusionauth } from './fusionauth.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { gocardless } from './gocardless.ts'
import { genericHmac } from './hmac.ts'
import { hook0 } from './hook0.ts'
import { lemonsqueezy } from './lemonsqueezy.ts'
import { mercadopago } from './mercadopago.ts'
import { mollie } from './mollie.ts'
import { mollieClassic } from './mollie-classic.ts'
import { paddle } from './paddle.ts'
import { paypal } from './paypal.ts'
import { razorpay } from './razorpay.ts'
import type { Scheme } from './scheme.ts'
import { sendgrid } from './sendgrid.ts'
import { shopify } from './shopify.ts'
import { slack } from './slack.ts'
import { square } from './square.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'
import { twilio } from './twilio.ts'
import { woocommerce } from './woocommerce.ts'
import { x } from './x.ts'
import { zoom } from './zoom.ts'

const schemes: readonly Scheme[] = [
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

/** Every way to sign that the gateway knows, by its name in the settings. */
export const SCHEMES: ReadonlyMap<string, Scheme> = new Map(schemes.map((scheme) => [scheme.name, scheme]))
