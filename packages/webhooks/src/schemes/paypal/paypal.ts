import { type KeyObject, verify } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { type Delivery, singleHeader } from '../../delivery.ts'
import { type At, jsonReader, normalizeEvent } from '../../events/event-reader.ts'
import { isEventText } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { type JsonObject, readJsonObject } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { unconfirmedReader } from '../../events/unconfirmed-reader.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { OBJECT_UNKNOWN } from '../../provider-api/confirm-by-api.ts'
import { fetchSettings } from '../../provider-api/provider-api.ts'
import type { Refusal } from '../../refusal.ts'
import { type FindKey, isValidAt } from '../../signatures/certificate-finder.ts'
import { certificateProblems, leavesOf, pinnedCertificates } from '../../signatures/pinned-certificates.ts'
import { isLive, type LiveSecret } from '../../signatures/signature.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { type CheckResult, defineScheme, type Scheme } from '../scheme.ts'
import { createPaypalApi } from './paypal-api.ts'
import { certificateHost, createPaypalFinder, PAYPAL_MAX_AGE_SECONDS } from './paypal-certificates.ts'

const TYPES = {
  'PAYMENT.CAPTURE.COMPLETED': 'payment.succeeded',
  'PAYMENT.CAPTURE.DENIED': 'payment.failed',
  'PAYMENT.CAPTURE.DECLINED': 'payment.failed',
  'PAYMENT.SALE.COMPLETED': 'payment.succeeded',
  'PAYMENT.SALE.DENIED': 'payment.failed',
} as const

const HEADERS = ['id', 'time', 'sig'].map((part) => `paypal-transmission-${part}`)

const shape = {
  certificates: pinnedCertificates,
  fetch: fetchSettings.optional(),
  sandbox: z.boolean().default(false),
}

/**
 * PayPal (developer.paypal.com/api/rest/webhooks/rest): RSA (PKCS #1 v1.5) with SHA-256 over transmission id, time,
 * webhook id and CRC-32 of the body, joined by pipes; the secret is the webhook id. The certificate comes from PayPal's
 * own hosts, and its chain is checked; or it is one of the pinned `certificates`. All redeliveries carry the time of
 * the first delivery, so the window is 30 days. A CRC does not protect a body: anyone who has captured a delivery can
 * make another body for its signature. Therefore, a transmission and its CRC are bound to the body that arrived first;
 * another CRC with the same id means that PayPal signed again. With `"fetch"` only PayPal's own answer about an event
 * counts.
 */
export const paypal = createPaypal(rootCertificates)

/** A chain has to lead to one of `roots` (PEM). All providers of a process share the certificates that are kept. */
function createPaypal(roots: readonly string[]): Scheme {
  let finder: FindKey | undefined
  return defineScheme('paypal', shape, {
    problemsOf: ({ certificates = [], fetch }) => [
      ...certificateProblems(certificates),
      ...(fetch !== undefined && !/^[^:]+:[^:]+$/.test(fetch.token)
        ? ['the token of fetch must be the client id of the REST app, a colon and its secret']
        : []),
    ],
    secretIsPublic: true,
    readKey: (text) => (/^[A-Za-z0-9_-]+$/.test(text) ? Buffer.from(text) : { problem: 'is not the id of a webhook' }),
    signedHeaders: () => [...HEADERS, 'paypal-cert-url', 'paypal-auth-algo'],
    fetchesKeys: ({ certificates }) => certificates === undefined,
    // A delivery counts for 30 days, and records may be kept for less: the key has to outlast them.
    redelivery: { hours: 72, source: 'reported: up to 25 attempts' },
    permits: { ...PAYMENTS, origin: ['/resource/payee/merchant_id'] },
    signsTime: () => false,
    prepare({ certificates, sandbox, toleranceSeconds }, secrets) {
      // Created late: most processes never need the roots.
      finder ??= createPaypalFinder(roots)
      const findKey = finder
      const pinned = certificates && leavesOf(certificates)
      return (delivery, now, fetch) => {
        // A URL that is not fetched may be of either kind.
        const sent = readHeaders(delivery, sandbox || pinned !== undefined)
        if (typeof sent === 'string') return { refused: sent }
        const age = (now - Date.parse(sent.time)) / 1_000
        if (!(age <= PAYPAL_MAX_AGE_SECONDS && age >= -toleranceSeconds)) return { refused: 'timestamp_outside_window' }
        if (pinned === undefined) {
          return findKey(sent.url, { now, fetch, from: delivery.from, sandbox }).then((found) => {
            const check = () => findWebhook({ sent, now }, secrets, found === null ? [] : [found.key])
            const result = delivery.timed === undefined ? check() : delivery.timed(check)
            if ('secretId' in result) found?.proved()
            return result
          })
        }
        const keys = pinned.filter((certificate) => isValidAt(certificate, now)).map(({ publicKey }) => publicKey)
        return findWebhook({ sent, now }, secrets, keys)
      }
    },
    prepareReader: (settings) => (settings.fetch === undefined ? readSigned : readUnconfirmed)(settings),
    prepareConfirm(settings) {
      if (settings.fetch === undefined) return undefined
      const readEvent = createPaypalApi(settings.fetch)
      const rules = { ...settings, types: TYPES }
      return async ({ id }, fetch) => {
        const event = EVENT_ID.test(id) ? await readEvent(id, fetch) : null
        if (event?.id !== id) return OBJECT_UNKNOWN
        const found = findInEvent(event, (pointer) => resolvePointer(event, pointer))
        return { event: normalizeEvent(found, event, rules) }
      }
    },
  })
}

const EVENT_ID = /^[A-Za-z0-9-]{1,64}$/

const readSigned = jsonReader(TYPES, findInEvent)
const readUnconfirmed = unconfirmedReader(({ rawBody }) => {
  const { id, event_type: type } = readJsonObject(rawBody)
  return { id, type: unsignedType(isEventText(type) ? type : undefined), objectId: id }
})

function findInEvent(body: JsonObject, at: At): FoundEvent {
  const currency = at('/resource/amount/currency_code') ?? at('/resource/amount/currency')
  return {
    id: body.id,
    type: body.event_type,
    objectId: at('/resource/id'),
    orderId:
      at('/resource/custom_id') ??
      at('/resource/custom') ??
      at('/resource/invoice_id') ??
      at('/resource/invoice_number') ??
      at('/resource/supplementary_data/related_ids/order_id'),
    amount: minorUnits(at('/resource/amount/value') ?? at('/resource/amount/total'), currency),
    currency,
    occurredAt: body.create_time,
  }
}

interface Sent {
  readonly id: string
  readonly time: string
  readonly url: string
  readonly signature: Buffer
  /** CRC-32 of the body. */
  readonly checksum: number
  /** The signed text before and after the id of the webhook. */
  readonly before: string
  readonly behind: string
}

const TRANSMISSION = /^[A-Za-z0-9-]{1,100}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/

function readHeaders({ rawHeaders, rawBody }: Delivery, sandbox: boolean): Sent | Refusal {
  const [id, time, signed] = HEADERS.map((name) => singleHeader(rawHeaders, name))
  const url = singleHeader(rawHeaders, 'paypal-cert-url')
  if (!id || !time || !signed || !url) return 'header_missing'
  if (singleHeader(rawHeaders, 'paypal-auth-algo') !== 'SHA256withRSA' || certificateHost(url, { sandbox }) === null)
    return 'header_malformed'
  const signature = decodeBase64(signed)
  if (signature === null || !TRANSMISSION.test(id) || !TIME.test(time)) return 'header_malformed'
  const checksum = crc32(rawBody)
  return { id, time, url, signature, checksum, before: `${id}|${time}|`, behind: `|${checksum}` }
}

function findWebhook(
  { sent, now }: { readonly sent: Sent; readonly now: number },
  secrets: readonly LiveSecret[],
  keys: readonly KeyObject[],
): CheckResult {
  const signer = secrets.find((secret) => {
    if (!isLive(secret, now)) return false
    const text = Buffer.from(`${sent.before}${secret.key.export().toString()}${sent.behind}`)
    return keys.some((key) => verify('sha256', text, key, sent.signature))
  })
  if (signer === undefined) return { refused: 'signature_mismatch' }
  const countsUntil = Date.parse(sent.time) + PAYPAL_MAX_AGE_SECONDS * 1_000
  return { secretId: signer.id, transmission: { id: sent.id, checksum: sent.checksum, countsUntil } }
}
