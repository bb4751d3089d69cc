import { accepted, macOf, type Recipe, refused, signatureOf, signedLines } from '../recipe.ts'
import { BODY, type HeaderLine, type Vector } from '../vector.ts'

/** Unsigned headers change nothing, whatever they say. */
function withUnsigned(recipe: Recipe, ...headers: HeaderLine[]): Vector {
  const names = headers.map(([name]) => name).join(', ')
  return accepted(recipe, `${names}: not signed, so they may say anything`, {
    headers: [...headers, ...signedLines(recipe)],
  })
}

/** GitHub: the example of its documentation, and the older SHA-1 header, which does not count. */
export function githubCases(recipe: Recipe): Vector[] {
  const sha1: HeaderLine = ['X-Hub-Signature', 'sha1=e553feb4f874ce518d83a5b4890277f441662b96']
  const form = Buffer.from('payload=%7B%22zen%22%3A%22Design+for+failure.%22%7D')
  return [
    accepted(recipe, 'published: docs.github.com, validating webhook deliveries', {
      secret: "It's a Secret to Everybody",
      headers: [['X-Hub-Signature-256', 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17']],
      body: Buffer.from('Hello, World!'),
    }),
    accepted(recipe, 'the older SHA-1 header stands beside it', { headers: [sha1, ...signedLines(recipe)] }),
    refused(recipe, 'only the older SHA-1 header', { headers: [sha1] }),
    refused(recipe, 'the SHA-1 signature in the header of SHA-256', { headers: [['X-Hub-Signature-256', sha1[1]]] }),
    accepted(recipe, 'a form, signed as sent', { headers: signedLines(recipe, { body: form }), body: form }),
    withUnsigned(recipe, ['X-GitHub-Event', 'push'], ['X-GitHub-Delivery', 'changed']),
  ]
}

/** Shopify: the header has two names. Only one of them may be present. */
export function shopifyCases(recipe: Recipe): Vector[] {
  const signature = signatureOf(recipe)
  const newer: HeaderLine = ['Shopify-Hmac-Sha256', signature]
  return [
    accepted(recipe, 'signed as the provider signs its Events', { headers: [newer] }),
    refused(recipe, 'both headers', { headers: [...signedLines(recipe), newer] }),
    refused(recipe, 'the older header twice beside the newer one', {
      headers: [...signedLines(recipe), ...signedLines(recipe), newer],
    }),
    refused(recipe, 'a wrong older header beside the right newer one', {
      headers: [['X-Shopify-Hmac-Sha256', `A${signature.slice(1)}`], newer],
    }),
    withUnsigned(recipe, ['X-Shopify-Topic', 'orders/paid'], ['X-Shopify-Webhook-Id', 'changed']),
  ]
}

/** Square: the vectors of its libraries, and addresses that are not the configured one. */
export function squareCases(recipe: Recipe): Vector[] {
  const url = String(recipe.settings?.publicUrl)
  const other = (why: string, address: string): Vector =>
    refused(recipe, why, { headers: signedLines(recipe, { text: [address, BODY] }) })
  return [
    accepted(recipe, 'published: the tests of the Square libraries', {
      settings: { publicUrl: 'https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9' },
      secret: 'Ibxx_5AKakO-3qeNVR61Dw',
      headers: [['x-square-hmacsha256-signature', 'GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=']],
      body: Buffer.from(
        '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
      ),
    }),
    accepted(recipe, 'published: the tests of the Square libraries, another key', {
      settings: { publicUrl: 'https://webhook.site/webhooks' },
      secret: 'signature-key',
      headers: [['x-square-hmacsha256-signature', 'W3FlCNk5IA3ZQ2LHTWoajvzfaDu/OwY2tNHIHC3IUOA=']],
      body: Buffer.from('{"data":{"type":"webhooks","id":"fake_id"}}'),
    }),
    other('signed for the address with a slash behind it', `${url}/`),
    other('signed for the address with http', url.replace('https', 'http')),
    other('signed for the address with its port', url.replace('.com', '.com:443')),
    other('signed for the address of another provider', url.replace('square', 'other')),
    other('signed for the address in upper case', url.toUpperCase()),
    other('signed for the path alone', '/api/webhooks/square'),
    refused(recipe, 'the right address and another body share one text', {
      headers: signedLines(recipe, { text: [`${url}{`, BODY.subarray(1)] }),
      body: BODY.subarray(1),
    }),
    refused(recipe, 'the older SHA-1 header', {
      headers: [['x-square-signature', macOf(recipe, { algorithm: 'sha1' }).toString('base64')]],
    }),
  ]
}

/** Lemon Squeezy. */
export function lemonsqueezyCases(recipe: Recipe): Vector[] {
  return [withUnsigned(recipe, ['X-Event-Name', 'order_created'])]
}

/** Razorpay: its checkout has a different signature, over a different text. */
export function razorpayCases(recipe: Recipe): Vector[] {
  return [
    withUnsigned(recipe, ['x-razorpay-event-id', 'changed']),
    refused(recipe, 'signed as its checkout signs, over order and payment', {
      headers: signedLines(recipe, { text: ['order_1|pay_1'] }),
    }),
  ]
}

/** GoCardless: the vector of its libraries, with two events in one body. */
export function gocardlessCases(recipe: Recipe): Vector[] {
  const body = Buffer.from(
    '{"events":[{"id":"EV00BD05S5VM2T","created_at":"2018-07-05T09:13:51.404Z","resource_type":"subscriptions","action":"created","links":{"subscription":"SB0003JJQ2MR06"},"details":{"origin":"api","cause":"subscription_created","description":"Subscription created via the API."},"metadata":{}},{"id":"EV00BD05TB8K63","created_at":"2018-07-05T09:13:56.893Z","resource_type":"mandates","action":"created","links":{"mandate":"MD000AMA19XGEC"},"details":{"origin":"api","cause":"mandate_created","description":"Mandate created via the API."},"metadata":{}}]}',
  )
  const published = {
    secret: 'ED7D658C-D8EB-4941-948B-3973214F2D49',
    headers: [
      ['Webhook-Signature', '2693754819d3e32d7e8fcb13c729631f316c6de8dc1cf634d6527f1c07276e7e'],
    ] satisfies HeaderLine[],
  }
  return [
    accepted(recipe, 'published: the tests of the GoCardless libraries', { ...published, body }),
    refused(recipe, 'the second event was taken out', {
      ...published,
      body: Buffer.from(`${body.toString().split(',{"id":"EV00BD05TB8K63"')[0]}]}`),
    }),
  ]
}

/** WooCommerce: the ping at the creation of a webhook is not signed. */
export function woocommerceCases(recipe: Recipe): Vector[] {
  return [
    withUnsigned(recipe, ['X-WC-Webhook-Topic', 'order.updated'], ['X-WC-Webhook-Delivery-ID', 'changed']),
    refused(recipe, 'the ping, which is not signed', { headers: [], body: Buffer.from('webhook_id=1') }),
  ]
}

/** Adyen's platform: its key in either case, and the headers that it sends beside the signature. */
export function adyenPlatformCases(recipe: Recipe): Vector[] {
  return [
    accepted(recipe, 'the key is in upper case', { secret: recipe.secret.toUpperCase() }),
    withUnsigned(recipe, ['Protocol', 'HmacSHA256']),
    refused(recipe, 'in the header of another provider', {
      headers: [['X-Shopify-Hmac-Sha256', signatureOf(recipe)]],
    }),
  ]
}
