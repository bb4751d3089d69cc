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
import { hmac } from './hmac.ts'
import { hook0 } from './hook0.ts'
import { lemonsqueezy } from './lemonsqueezy.ts'
import { mercadopago } from './mercadopago.ts'
import { mollie } from './mollie.ts'
import { mollieClassic } from './mollie-classic.ts'
import { paddle } from './paddle.ts'
import { paypal } from './paypal.ts'
import { razorpay } from './razorpay.ts'
import { sendgrid } from './sendgrid.ts'
import { shopify } from './shopify.ts'
import type { Signer } from './signer.ts'
import { slack } from './slack.ts'
import { square } from './square.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'
import { twilio } from './twilio.ts'
import { woocommerce } from './woocommerce.ts'
import { x } from './x.ts'
import { zoom } from './zoom.ts'

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
