import { createHash, createHmac } from 'node:crypto'
import { toDecimal } from '@oncehook/kernel/money/currencies'
import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../payment-event.ts'
import { type Signer, SigningError, type SigningRequest } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'transaction_settled', failed: 'transaction_settlement_declined' }

/**
 * Braintree (developer.paypal.com/braintree/docs/guides/webhooks): a form with the XML in base64 and the HMAC-SHA1 of that, keyed with
 * the SHA-1 of the private key. The secret is the public key, a colon and the private key. Before it is sealed, a body is the XML.
 */
export const braintree: Signer = {
  types,
  settings: [],
  contentType: 'application/x-www-form-urlencoded',
  writeEvent: (event) => Buffer.from(toXml(event)),
  sign: () => [],
  seal: { seal, signedOffsets },
}

function toXml(event: PaymentEvent): string {
  const type = toSchemeType(types, event.type)
  const status = type === types.failed ? 'settlement_declined' : 'settled'
  const lines = [
    ['id', event.paymentId],
    ['status', status],
    ['type', 'sale'],
    ['currency-iso-code', event.currency],
    ['amount', toDecimal(event.amount, event.currency)],
    ['order-id', event.orderId],
  ].map(([name, value = '']) => `<${name}>${escapeXml(value)}</${name}>`)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n<notification>',
    `<timestamp type="datetime">${new Date(event.occurredAt).toISOString()}</timestamp>`,
    `<kind>${escapeXml(type)}</kind>`,
    `<subject><transaction>${lines.join('')}</transaction></subject>`,
    '</notification>\n',
  ].join('')
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function seal({ body, secret }: SigningRequest): Uint8Array {
  const colon = secret.indexOf(':')
  if (colon === -1) throw new SigningError('The secret must be the public key, a colon and the private key')
  const payload = `${Buffer.from(body).toString('base64')}\n`
  const key = createHash('sha1')
    .update(secret.slice(colon + 1))
    .digest()
  const signature = createHmac('sha1', key).update(payload).digest('hex')
  const form = { bt_signature: `${secret.slice(0, colon)}|${signature}`, bt_payload: payload }
  return Buffer.from(new URLSearchParams(form).toString())
}

/** A character of the payload; before it is sealed, the last one of the kind. */
function signedOffsets(body: Uint8Array): number[] {
  const text = Buffer.from(body).toString('latin1')
  const found = /bt_payload=.{40}/.exec(text) ?? /<kind>[^<]+/.exec(text)
  return found === null ? [] : [found.index + found[0].length - 1]
}
