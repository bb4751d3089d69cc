import { createHash, createHmac } from 'node:crypto'
import { writeJson } from '../json-body.ts'
import type { PaymentEvent, PaymentTypes } from '../payment-event.ts'
import { toSchemeEvent } from '../scheme-event.ts'
import { readTextSetting, type Signer, SigningError, type SigningRequest } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'pay.success', failed: 'pay.payment-connector-error' }
const account = 'AC00000000000000000000000000000001'

/**
 * Twilio (twilio.com/docs/usage/webhooks/webhooks-security): HMAC-SHA1 in base64 over the public address with its query
 * and, of a form, names and values, sorted by name; a JSON body is signed by its SHA-256 in the query. The setting
 * `publicUrl` is the address. The event is a payment that a caller made by telephone.
 * Several in one delivery are CloudEvents in an array, the form of Event Streams.
 */
export const twilio: Signer = {
  types,
  settings: ['publicUrl'],
  contentType: 'application/x-www-form-urlencoded',
  mapping: { read: { order: '/Order' } },
  writeEvent,
  batch: { most: 1_000, writeEvents: (events) => writeJson(events.map(toCloudEvent)) },
  query: ({ body }) => (isJson(body) ? `bodySHA256=${createHash('sha256').update(body).digest('hex')}` : ''),
  sign: (request) => [['X-Twilio-Signature', signTwilio(request)]],
}

function isJson(body: Uint8Array): boolean {
  return body[0] === 0x7b || body[0] === 0x5b
}

function signTwilio(request: SigningRequest): string {
  const { body, secret, settings } = request
  const url = readTextSetting(settings, 'publicUrl')
  if (!url) throw new SigningError('The setting publicUrl is missing: Twilio signs the URL of the receiver')
  const query = twilio.query?.(request)
  const text = isJson(body) ? `${url}?${query}` : url + writeParameters(body)
  return createHmac('sha1', secret).update(text).digest('base64')
}

function writeParameters(body: Uint8Array): string {
  const pairs = [...new URLSearchParams(Buffer.from(body).toString())].map(([name, value]) => name + value)
  const names = [...new URLSearchParams(Buffer.from(body).toString()).keys()]
  if (new Set(names).size !== names.length)
    throw new SigningError('The simulator cannot sign a form with a repeated name')
  // Sorted by name only: a name that starts with another name comes after it.
  return names
    .map((name, index) => [name, pairs[index] ?? ''] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, pair]) => pair)
    .join('')
}

function writeEvent(event: PaymentEvent): Uint8Array {
  return Buffer.from(new URLSearchParams(toFields(event)).toString())
}

function toFields(event: PaymentEvent): Record<string, string> {
  const { type } = toSchemeEvent(event, types)
  const succeeded = type === types.succeeded
  return {
    AccountSid: account,
    CallSid: succeeded ? `CA${event.id}` : event.paymentId,
    From: '+15550001111',
    To: '+15550002222',
    Order: event.orderId,
    ...(succeeded ? { PaymentConfirmationCode: event.paymentId } : { PaymentError: 'Card declined' }),
    PaymentCardNumber: 'xxxxxxxxxxxx1111',
    PaymentMethod: 'credit-card',
    Result: type.replace(/^pay\./, ''),
  }
}

/** `Order` has the same place as in the form, so that one gateway setting finds it in both. */
function toCloudEvent(event: PaymentEvent): object {
  const { type, at } = toSchemeEvent(event, types)
  return {
    specversion: '1.0',
    id: event.id,
    type,
    source: `/${account}/Calls`,
    time: at,
    datacontenttype: 'application/json',
    Order: event.orderId,
    data: { id: event.paymentId, ...toFields(event) },
  }
}
