import { sign } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { toDecimal } from '@oncehook/kernel/money/currencies'
import { toUuid } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { readPrivateKey } from '../private-key.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'
import { type HeaderLine, readTextSetting, SigningError, type SigningRequest } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'PAYMENT.CAPTURE.COMPLETED', failed: 'PAYMENT.CAPTURE.DENIED' }

/**
 * PayPal (developer.paypal.com/api/rest/webhooks/rest): RSA (PKCS #1 v1.5) with SHA-256 over transmission id, time,
 * webhook id and CRC-32 of the body, joined by pipes. The secret is the PEM private key. The setting `webhookId` is required.
 * The gateway needs the certificate of the key in its setting `certificates`.
 */
export const paypal = jsonSigner(types, toBody, {
  needsPrivateKey: true,
  settings: ['webhookId'],
  sign: signPaypal,
})

function signPaypal({ body, secret, now, eventId, settings }: SigningRequest): HeaderLine[] {
  const webhookId = readTextSetting(settings, 'webhookId')
  if (!webhookId) throw new SigningError('The setting webhookId is missing: PayPal signs the id of the webhook')
  const id = toUuid(eventId ?? 'simulated')
  const time = `${new Date(now).toISOString().slice(0, 19)}Z`
  const text = [id, time, webhookId, crc32(body)].join('|')
  return [
    ['PAYPAL-TRANSMISSION-ID', id],
    ['PAYPAL-TRANSMISSION-TIME', time],
    ['PAYPAL-TRANSMISSION-SIG', sign('sha256', Buffer.from(text), readPrivateKey(secret, 'rsa')).toString('base64')],
    ['PAYPAL-CERT-URL', 'https://api.sandbox.paypal.com/v1/notifications/certs/CERT-SIMULATOR'],
    ['PAYPAL-AUTH-ALGO', 'SHA256withRSA'],
  ]
}

function toBody({ type, failed, at, ...event }: SchemeEvent): object {
  const value = toDecimal(event.amount, event.currency)
  return {
    id: event.id,
    event_version: '1.0',
    create_time: at,
    resource_type: 'capture',
    resource_version: '2.0',
    event_type: type,
    summary: `Payment ${failed ? 'denied' : 'completed'} for ${event.currency} ${value}`,
    resource: {
      id: event.paymentId,
      status: failed ? 'DECLINED' : 'COMPLETED',
      amount: { currency_code: event.currency, value },
      custom_id: event.orderId,
      create_time: at,
    },
    links: [],
  }
}
