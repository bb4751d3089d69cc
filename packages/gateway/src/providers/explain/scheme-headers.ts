import { type ProviderSettings, SCHEMES } from '@oncehook/webhooks/providers'

/** Headers that belong together, in lower case. */
export type HeaderFamily = readonly string[]

const standard: readonly HeaderFamily[] = [
  ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  ['svix-id', 'svix-timestamp', 'svix-signature'],
]

const families: Readonly<Record<string, readonly HeaderFamily[]>> = {
  'standard-webhooks': standard,
  'adyen-platform': [['hmacsignature']],
  discord: [['x-signature-ed25519', 'x-signature-timestamp']],
  flutterwave: [['verif-hash']],
  fusionauth: [['x-fusionauth-signature-jwt']],
  github: [['x-hub-signature-256']],
  gitlab: [...standard, ['x-gitlab-token']],
  gocardless: [['webhook-signature']],
  hook0: [['x-hook0-signature']],
  mercadopago: [['x-signature', 'x-request-id']],
  mollie: [['x-mollie-signature']],
  paypal: [
    [
      'paypal-transmission-id',
      'paypal-transmission-time',
      'paypal-transmission-sig',
      'paypal-cert-url',
      'paypal-auth-algo',
    ],
  ],
  plaid: [['plaid-verification']],
  sendgrid: [['x-twilio-email-event-webhook-signature', 'x-twilio-email-event-webhook-timestamp']],
  shopify: [['x-shopify-hmac-sha256'], ['shopify-hmac-sha256']],
  stripe: [['stripe-signature']],
  twilio: [['x-twilio-signature']],
  wise: [['x-signature-sha256']],
  woocommerce: [['x-wc-webhook-signature']],
}

const presets = [...SCHEMES.values()].flatMap(({ name, headerFamilies }) =>
  headerFamilies === undefined ? [] : [[name, headerFamilies] as const],
)
/** A delivery with the headers of Standard Webhooks belongs to that scheme, whoever uses them too. */
const searched = [...Object.entries(families), ...presets.filter(([, own]) => !own[0]?.includes('webhook-id'))]

/**
 * The headers of a scheme: one family must be complete. Empty for a scheme without signature headers (`adyen`,
 * `mollie-classic`).
 */
export function headerFamiliesOf(settings: Pick<ProviderSettings, 'scheme'>): readonly HeaderFamily[] {
  if (settings.scheme !== 'hmac') return families[settings.scheme] ?? new Map(presets).get(settings.scheme) ?? []
  const { header, timestampHeader, idHeader } = settings as Readonly<Record<string, string | undefined>>
  return [[header, timestampHeader, idHeader].filter((name) => name !== undefined)]
}

/** The schemes whose headers are all present, except those whose headers are a subset of another scheme's. */
export function schemesWithHeaders(present: ReadonlySet<string>): string[] {
  const found = searched.flatMap(([scheme, own]) => {
    const [family] = own.filter((one) => one.every((name) => present.has(name)))
    return family === undefined ? [] : [{ scheme, family }]
  })
  const isPart = ({ family }: { family: HeaderFamily }): boolean =>
    found.some((other) => other.family.length > family.length && family.every((name) => other.family.includes(name)))
  return found.filter((one) => !isPart(one)).map(({ scheme }) => scheme)
}
