import { describe, expect, it } from 'vitest'
import { makeProvider } from '../../testing/make-provider.ts'
import { deliveryOf, readVectorFiles, secretsOf, type Vector } from '../../testing/vectors.ts'

/** How the generic scheme is set to sign as another, and what of that scheme goes beyond a plain HMAC. */
interface Expression {
  readonly scheme: string
  readonly settings: (vector: Vector) => Readonly<Record<string, unknown>>
  /** Vectors with another result than in the scheme, by their reason. */
  readonly beyond?: RegExp
}

const hex = (header: string, prefix = '') => ({ header, prefix })
const base64 = (header: string, prefix = '') => ({ header, prefix, encoding: 'base64' })

/** What the generic scheme takes from every sender, because it cannot be mistaken, and what each provider's own scheme refuses. */
const LENIENT = new RegExp(
  [
    ...['upper-case hexadecimal', 'URL-safe alphabet', 'the signature has no padding', 'base64 has no padding'],
    ...['is in milliseconds', 'an ISO 8601 time(?! without)', 'a blank stands behind the separator'],
  ].join('|'),
)

const EXPRESSIONS: readonly Expression[] = [
  { scheme: 'adyen-platform', settings: () => ({ ...base64('HmacSignature'), secretEncoding: 'hex' }) },
  {
    scheme: 'cashfree',
    settings: () => ({
      ...base64('x-webhook-signature'),
      ...{ timestampHeader: 'x-webhook-timestamp', signedText: '{timestamp}{body}' },
    }),
  },
  { scheme: 'checkout', settings: () => hex('Cko-Signature') },
  { scheme: 'github', settings: () => hex('X-Hub-Signature-256', 'sha256=') },
  { scheme: 'gocardless', settings: () => hex('Webhook-Signature') },
  { scheme: 'lemonsqueezy', settings: () => hex('X-Signature') },
  { scheme: 'mollie', settings: () => hex('X-Mollie-Signature', 'sha256='), beyond: /the prefix is left out/ },
  {
    scheme: 'paddle',
    settings: () => ({
      ...hex('Paddle-Signature', 'h1='),
      ...{ separator: ';', timestampPrefix: 'ts=', signedText: '{timestamp}:{body}' },
    }),
  },
  { scheme: 'razorpay', settings: () => hex('X-Razorpay-Signature') },
  {
    scheme: 'shopify',
    settings: () => base64('X-Shopify-Hmac-Sha256'),
    beyond: /as the provider signs its Events|both headers|beside the right newer one/,
  },
  {
    scheme: 'slack',
    settings: () => ({
      ...hex('X-Slack-Signature', 'v0='),
      ...{ timestampHeader: 'X-Slack-Request-Timestamp', signedText: 'v0:{timestamp}:{body}' },
    }),
  },
  {
    scheme: 'square',
    settings: ({ settings }) => ({
      ...base64('x-square-hmacsha256-signature'),
      ...{ signedText: '{url}{body}', publicUrl: settings?.publicUrl },
    }),
  },
  {
    scheme: 'stripe',
    settings: () => ({ ...hex('Stripe-Signature', 'v1='), separator: ',', timestampPrefix: 't=' }),
  },
  { scheme: 'woocommerce', settings: () => base64('X-WC-Webhook-Signature') },
  { scheme: 'x', settings: () => base64('x-twitter-webhooks-signature', 'sha256=') },
  {
    scheme: 'zoom',
    settings: () => ({
      ...hex('x-zm-signature', 'v0='),
      ...{ timestampHeader: 'x-zm-request-timestamp', signedText: 'v0:{timestamp}:{body}' },
    }),
  },
]

const files = new Map(readVectorFiles().map(({ scheme, cases }) => [scheme, cases]))

async function verdictOf({ settings }: Expression, vector: Vector): Promise<Vector['verdict']> {
  const toleranceSeconds = vector.settings?.toleranceSeconds
  const tolerance = toleranceSeconds === undefined ? {} : { toleranceSeconds }
  const secrets = secretsOf(vector)
  const provider = makeProvider({ settings: { scheme: 'hmac', ...settings(vector), ...tolerance }, secrets })
  const verdict = await provider.verify(deliveryOf(vector), vector.now * 1_000, fetch)
  return 'secretId' in verdict ? 'accepted' : 'refused'
}

describe.each(EXPRESSIONS)('the generic scheme, set to sign as $scheme', (expression) => {
  const { scheme, beyond } = expression
  const cases = files.get(scheme) ?? []

  it('returns the result of the scheme itself for each of its vectors', async () => {
    const plain = cases.filter(
      ({ why }) => beyond?.test(why) !== true && !LENIENT.test(why) && !/key is in upper case/.test(why),
    )
    expect(plain.length).toBeGreaterThan(40)
    for (const vector of plain) expect(await verdictOf(expression, vector), vector.why).toBe(vector.verdict)
  })

  it('takes every form that cannot be mistaken', async () => {
    const forms = cases.filter(({ why }) => beyond?.test(why) !== true && LENIENT.test(why))
    expect(forms.length).toBeGreaterThan(0)
    for (const vector of forms) expect(await verdictOf(expression, vector), vector.why).toBe('accepted')
  })

  if (beyond !== undefined) {
    it('refuses everything that the scheme accepts beyond a plain HMAC', async () => {
      const taken = cases.filter(({ why, verdict }) => beyond.test(why) && verdict === 'accepted')
      expect(taken.length).toBeGreaterThan(0)
      for (const vector of taken) expect(await verdictOf(expression, vector), vector.why).toBe('refused')
    })
  }
})
