import { hmacValidator } from '@adyen/api-library'
import { verify as verifyOfGithub } from '@octokit/webhooks-methods'
import { Paddle } from '@paddle/paddle-node-sdk'
import { EventWebhook } from '@sendgrid/eventwebhook'
import '@shopify/shopify-api/adapters/web-api'
import { ApiVersion, LogSeverity, shopifyApi } from '@shopify/shopify-api'
import { verifySlackRequest } from '@slack/bolt'
import { WorkOS } from '@workos-inc/node'
import { Cashfree, CFEnvironment } from 'cashfree-pg'
import { verifyKey } from 'discord-interactions'
import { parse } from 'gocardless-nodejs/webhooks'
import { verifyWebhookSignatureWithCurrentTime } from 'hook0-client'
import { WebhookSignatureValidator } from 'mercadopago'
import ModernTreasury from 'modern-treasury'
import { validateWebhookSignature } from 'razorpay/dist/utils/razorpay-utils.js'
import { WebhooksHelper } from 'square'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import twilio from 'twilio'

/** A delivery as libraries take one. */
export interface Sent {
  readonly body: string
  readonly headers: Headers
  /** Without the question mark. */
  readonly query: string
  /** As the gateway has it. */
  readonly secret: string
  readonly publicUrl: string
  /** Milliseconds. Some libraries read the clock of the process instead. */
  readonly now: number
}

/** The library that a provider offers, used as its users do. */
export interface OfficialLibrary {
  readonly scheme: string
  readonly name: string
  /** Whether it accepts a delivery as authentic. If it throws, it does not. */
  verify(sent: Sent): boolean | Promise<boolean>
}

function holds(verify: () => unknown): boolean {
  try {
    verify()
    return true
  } catch {
    return false
  }
}

/** Libraries of Standard Webhooks have one interface. */
function verifyBy(Library: typeof StandardWebhook | typeof SvixWebhook): OfficialLibrary['verify'] {
  return ({ body, headers, secret }) => holds(() => new Library(secret).verify(body, Object.fromEntries(headers)))
}

const text = (sent: Sent, name: string): string => sent.headers.get(name) ?? ''
const paddle = new Paddle('unused')
const stripe = new Stripe('sk_test_unused')
const sendgrid = new EventWebhook()
const modernTreasury = new ModernTreasury({ organizationID: 'unused', apiKey: 'unused' })
const workos = new WorkOS('unused')

/** The validator of Adyen's library: of items and of whole bodies. */
export const adyenValidator = new hmacValidator()

/** Every official library that can check what its provider signs. */
export const OFFICIAL_LIBRARIES: readonly OfficialLibrary[] = [
  {
    scheme: 'stripe',
    name: 'stripe',
    verify: (sent) =>
      holds(() => stripe.webhooks.constructEvent(sent.body, text(sent, 'stripe-signature'), sent.secret)),
  },
  { scheme: 'standard-webhooks', name: 'standardwebhooks', verify: verifyBy(StandardWebhook) },
  { scheme: 'standard-webhooks', name: 'svix', verify: verifyBy(SvixWebhook) },
  { scheme: 'gitlab', name: 'standardwebhooks', verify: verifyBy(StandardWebhook) },
  // These libraries are what those of the providers verify with.
  { scheme: 'clerk', name: 'svix', verify: verifyBy(SvixWebhook) },
  { scheme: 'resend', name: 'svix', verify: verifyBy(SvixWebhook) },
  { scheme: 'dodo', name: 'standardwebhooks', verify: verifyBy(StandardWebhook) },
  {
    scheme: 'polar',
    name: 'standardwebhooks',
    verify: (sent) => verifyBy(StandardWebhook)({ ...sent, secret: Buffer.from(sent.secret).toString('base64') }),
  },
  {
    scheme: 'github',
    name: '@octokit/webhooks-methods',
    verify: (sent) => verifyOfGithub(sent.secret, sent.body, text(sent, 'x-hub-signature-256')),
  },
  {
    scheme: 'modern-treasury',
    name: 'modern-treasury',
    verify: (sent) => modernTreasury.webhooks.validateSignature(sent.body, sent.headers, { key: sent.secret }),
  },
  {
    scheme: 'workos',
    name: '@workos-inc/node',
    verify: async ({ body: payload, secret, ...sent }) => {
      const sigHeader = text({ ...sent, body: payload, secret }, 'workos-signature')
      return await workos.webhooks.verifyHeader({ payload, sigHeader, secret }).catch(() => false)
    },
  },
  {
    scheme: 'paddle',
    name: '@paddle/paddle-node-sdk',
    verify: async (sent) => paddle.webhooks.isSignatureValid(sent.body, sent.secret, text(sent, 'paddle-signature')),
  },
  {
    scheme: 'hook0',
    name: 'hook0-client',
    verify: (sent) =>
      holds(() => {
        const signature = text(sent, 'x-hook0-signature')
        const body = Buffer.from(sent.body)
        verifyWebhookSignatureWithCurrentTime(signature, body, sent.headers, sent.secret, 300, new Date(sent.now))
      }),
  },
  {
    scheme: 'cashfree',
    name: 'cashfree-pg',
    verify: (sent) =>
      holds(() =>
        toCashfree(sent.secret).PGVerifyWebhookSignature(
          text(sent, 'x-webhook-signature'),
          sent.body,
          text(sent, 'x-webhook-timestamp'),
        ),
      ),
  },
  {
    scheme: 'razorpay',
    name: 'razorpay',
    verify: (sent) => validateWebhookSignature(sent.body, text(sent, 'x-razorpay-signature'), sent.secret),
  },
  {
    scheme: 'slack',
    name: '@slack/bolt',
    verify: (sent) =>
      holds(() =>
        verifySlackRequest({
          signingSecret: sent.secret,
          body: sent.body,
          headers: {
            'x-slack-signature': text(sent, 'x-slack-signature'),
            'x-slack-request-timestamp': Number(text(sent, 'x-slack-request-timestamp')),
          },
          nowMilliseconds: sent.now,
        }),
      ),
  },
  {
    scheme: 'square',
    name: 'square',
    verify: (sent) =>
      WebhooksHelper.verifySignature({
        requestBody: sent.body,
        signatureHeader: text(sent, 'x-square-hmacsha256-signature'),
        signatureKey: sent.secret,
        notificationUrl: sent.publicUrl,
      }),
  },
  { scheme: 'twilio', name: 'twilio', verify: verifyOfTwilio },
  { scheme: 'adyen', name: '@adyen/api-library', verify: verifyOfAdyen },
  {
    scheme: 'adyen-platform',
    name: '@adyen/api-library',
    verify: (sent) => adyenValidator.validateHMACSignature(sent.secret, text(sent, 'hmacsignature'), sent.body),
  },
  { scheme: 'shopify', name: '@shopify/shopify-api', verify: verifyOfShopify },
  {
    scheme: 'gocardless',
    name: 'gocardless-nodejs',
    verify: (sent) => holds(() => parse(sent.body, sent.secret, text(sent, 'webhook-signature'))),
  },
  {
    scheme: 'discord',
    name: 'discord-interactions',
    verify: (sent) =>
      verifyKey(sent.body, text(sent, 'x-signature-ed25519'), text(sent, 'x-signature-timestamp'), sent.secret),
  },
  {
    scheme: 'sendgrid',
    name: '@sendgrid/eventwebhook',
    verify: (sent) =>
      sendgrid.verifySignature(
        sendgrid.convertPublicKeyToECDSA(sent.secret),
        sent.body,
        text(sent, 'x-twilio-email-event-webhook-signature'),
        text(sent, 'x-twilio-email-event-webhook-timestamp'),
      ),
  },
  {
    scheme: 'mercadopago',
    name: 'mercadopago',
    verify: (sent) =>
      holds(() =>
        WebhookSignatureValidator.validate({
          xSignature: text(sent, 'x-signature'),
          xRequestId: text(sent, 'x-request-id'),
          dataId: new URLSearchParams(sent.query).get('data.id'),
          secret: sent.secret,
        }),
      ),
  },
]

/** Keeps it from reporting errors over the network. */
function toCashfree(secret: string): Cashfree {
  return new Cashfree(CFEnvironment.SANDBOX, 'unused', secret, undefined, undefined, undefined, false)
}

function verifyOfTwilio(sent: Sent): boolean {
  const url = sent.query === '' ? sent.publicUrl : `${sent.publicUrl}?${sent.query}`
  const signature = text(sent, 'x-twilio-signature')
  if (sent.query.includes('bodySHA256')) return twilio.validateRequestWithBody(sent.secret, signature, url, sent.body)
  return twilio.validateRequest(sent.secret, signature, url, toParameters(sent.body))
}

/** The fields of a form as the usual parsers give them. */
export function toParameters(form: string): Record<string, string | string[]> {
  const fields = new URLSearchParams(form)
  const names = [...new Set(fields.keys())]
  return Object.fromEntries(
    names.map((name) => {
      const values = fields.getAll(name)
      return [name, values.length > 1 ? values : (values[0] ?? '')]
    }),
  )
}

function verifyOfAdyen({ body, secret }: Sent): boolean {
  const { notificationItems } = JSON.parse(body) as { notificationItems: { NotificationRequestItem: never }[] }
  return notificationItems.every(({ NotificationRequestItem: item }) => adyenValidator.validateHMAC(item, secret))
}

async function verifyOfShopify({ body, headers, secret }: Sent): Promise<boolean> {
  const shopify = shopifyApi({
    apiSecretKey: secret,
    apiKey: 'unused',
    apiVersion: ApiVersion.July26,
    hostName: 'pay.example.com',
    isEmbeddedApp: false,
    logger: { level: LogSeverity.Error, log: () => undefined },
  })
  const rawRequest = new Request('https://pay.example.com', { method: 'POST', headers })
  const result = await shopify.webhooks.validate({ rawBody: body, rawRequest })
  // The presence of other headers is not a question of authenticity.
  return result.valid || result.reason === 'missing_headers'
}
