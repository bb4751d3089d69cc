import { findSignedTime } from '@oncehook/gateway/webhooks/providers/observe'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import { type CauseName, type Delivery, SCHEMES } from '@oncehook/webhooks/providers'
import { signDelivery } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { parseProvidersSettings } from '@oncehook/webhooks/testing/providers-settings'
import { SAMPLE_PAYMENT } from '@oncehook/webhooks/testing/sample-payment'
import { expect } from 'vitest'
import { explainDelivery } from '../explain/explain-delivery.ts'
import type { KnownProvider } from '../verify/known-providers.ts'

/** When the deliveries are signed. */
export const NOW = 1_760_000_000_000
/** Where they are sent. */
export const URL = 'https://pay.example.com/api/webhooks/shop'

const event = { ...SAMPLE_PAYMENT, orderId: 'ord/1é', occurredAt: NOW }

/** A valid delivery, and everything needed to tamper with it. */
export async function deliver(scheme: string, body?: string, more: object = {}) {
  const signer = signers.get(scheme)
  if (signer === undefined) throw new Error(`No signer for ${scheme}`)
  const secret = await makeDevelopmentSecret(scheme, NOW)
  const settings = {
    ...(scheme === 'hmac' ? { header: 'x-signature', timestampHeader: 'x-timestamp' } : {}),
    ...(scheme !== 'hmac' && signer.settings.includes('publicUrl') ? { publicUrl: URL } : {}),
    ...secret.gatewaySettings,
    ...(SCHEMES.get(scheme)?.prepareConfirm === undefined
      ? {}
      : { fetch: { baseUrl: 'http://127.0.0.1', token: 'unused' } }),
  }
  const signed = signDelivery(signer, {
    body: body === undefined ? signer.writeEvent(event) : Buffer.from(body),
    secret: secret.signWith,
    now: NOW,
    eventId: 'evt_1',
    settings: { ...settings, ...more, ...secret.signerSettings },
  })
  const delivery: Delivery = {
    rawBody: Buffer.from(signed.body),
    rawHeaders: signed.headers.flat(),
    query: signed.query,
  }
  return { scheme, value: secret.value ?? '', settings, delivery }
}

/** A delivery, and everything needed to tamper with it. */
export type Delivered = Awaited<ReturnType<typeof deliver>>

/** The provider of a delivery, as the settings have it. */
export function toKnown({ scheme, value, settings }: Pick<Delivered, 'scheme' | 'value' | 'settings'>, name = 'shop') {
  const secrets = value === '' ? [] : [{ id: 's1', value }]
  const entry = { scheme, acceptShortSecret: true, ...settings, secrets }
  const { p: parsed } = parseProvidersSettings({ p: entry })
  if (parsed === undefined) throw new Error('The settings have no provider')
  return { name, settings: parsed, secretTexts: secrets.map((one) => one.value) }
}

interface Around {
  readonly others?: readonly KnownProvider[]
  readonly now?: number
  readonly url?: string
  readonly notAfter?: string
}

/** What is said of a delivery; nothing in it may be a secret or a signature. */
export async function explain(one: Delivered, { others = [], now = NOW, url, notAfter }: Around = {}) {
  const asked = toKnown(one)
  const ended =
    notAfter === undefined
      ? asked.settings.secrets
      : asked.settings.secrets.slice(0, 1).map((secret) => ({ ...secret, notAfter }))
  const known = { ...asked, settings: { ...asked.settings, secrets: ended } }
  const { delivery } = one
  const given = {
    asked: known,
    others,
    place: 'PROVIDERS',
    delivery,
    target: null,
    now,
    fetch,
    signedTime: findSignedTime(known.settings, delivery),
  }
  return explainDelivery(given, url)
}

/** The delivery with other header lines. */
export function withHeaders(one: Delivered, change: (name: string, value: string) => readonly string[]): Delivered {
  const { rawHeaders } = one.delivery
  const changed = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? change(name, rawHeaders[at + 1] ?? '') : []))
  return { ...one, delivery: { ...one.delivery, rawHeaders: changed } }
}

/** The delivery with another body. */
export function withBody(one: Delivered, change: (text: string) => string | Buffer): Delivered {
  const rawBody = Buffer.from(change(one.delivery.rawBody.toString()))
  return { ...one, delivery: { ...one.delivery, rawBody } }
}

/** Checks that exactly this cause is found and proved. Resolves to its message. */
export async function expectProved(one: Delivered, cause: CauseName, around?: Around): Promise<string> {
  const { acceptedBy, causes } = await explain(one, around)
  expect(acceptedBy).toBeNull()
  expect(causes.map((each) => [each.cause, each.proved])).toEqual([[cause, true]])
  return causes[0]?.message ?? ''
}

/** All schemes. */
export const all = [...SCHEMES.keys()]
/** The schemes that sign the delivery. */
export const signing = all.filter((scheme) => !['mollie-classic', 'flutterwave', 'mercadopago'].includes(scheme))
/** The schemes that sign the whole body, byte for byte. */
export const overBytes = signing.filter(
  (scheme) => !['adyen', 'app-store', 'braintree', 'sns', 'twilio'].includes(scheme),
)
