import { type Delivery, headerLines, type ProviderSettings } from '@oncehook/webhooks/providers'

/** The signed time of a delivery. */
export interface SignedTime {
  /** The header name, in lower case. */
  readonly header: string
  /** Milliseconds since 1970; null if the text is not a time. */
  readonly ms: number | null
  readonly text: string
}

/** The header and, for a list, the pattern of the item. */
type Place = readonly [header: string, member?: RegExp]

const places: Readonly<Record<string, readonly Place[]>> = {
  'standard-webhooks': [['webhook-timestamp'], ['svix-timestamp']],
  gitlab: [['webhook-timestamp'], ['svix-timestamp']],
  stripe: [['stripe-signature', /(?:^|,)\s*t=([^,]*)/]],
  paddle: [['paddle-signature', /(?:^|;)\s*ts=([^;]*)/]],
  hook0: [['x-hook0-signature', /(?:^|,)\s*t=([^,]*)/]],
  mercadopago: [['x-signature', /(?:^|,)\s*ts=([^,]*)/]],
  slack: [['x-slack-request-timestamp']],
  zoom: [['x-zm-request-timestamp']],
  discord: [['x-signature-timestamp']],
  sendgrid: [['x-twilio-email-event-webhook-timestamp']],
  cashfree: [['x-webhook-timestamp']],
  paypal: [['paypal-transmission-time']],
}

/** The signed time in the headers of a delivery, or null if the scheme signs none or the header is missing. */
export function findSignedTime(
  settings: ProviderSettings,
  { rawHeaders }: Pick<Delivery, 'rawHeaders'>,
): SignedTime | null {
  const { scheme } = settings
  for (const [header, member] of scheme === 'hmac' ? placesOfHmac(settings as HmacTime) : (places[scheme] ?? [])) {
    const [value] = headerLines(rawHeaders, header)
    const text = member === undefined ? value : member.exec(value ?? '')?.[1]
    if (text !== undefined) return { header, text, ms: toMs(text) }
  }
  return null
}

interface HmacTime {
  readonly header?: string
  readonly separator?: string
  readonly timestampHeader?: string
  readonly timestampPrefix?: string
}

function placesOfHmac(settings: HmacTime): readonly Place[] {
  const { header, separator, timestampHeader, timestampPrefix: prefix } = settings
  if (timestampHeader !== undefined) return [[timestampHeader]]
  if (header === undefined || separator === undefined || prefix === undefined) return []
  // Without a prefix, the time is the first item.
  const before = prefix === '' ? '^' : `(?:^|${separator}) *${prefix.replaceAll(/\W/g, '\\$&')}`
  return [[header, new RegExp(`${before}([^${separator}]*)`)]]
}

function toMs(text: string): number | null {
  if (/^\d{10}$/.test(text)) return Number(text) * 1000
  if (/^\d{13}$/.test(text)) return Number(text)
  const ms = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}
