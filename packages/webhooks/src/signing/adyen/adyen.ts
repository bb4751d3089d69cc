import { createHmac } from 'node:crypto'
import { readJson, writeJson } from '../json-body.ts'
import type { PaymentEvent, PaymentTypes } from '../payment-event.ts'
import { toUnitsOf } from '../provider-units.ts'
import { toSchemeEvent } from '../scheme-event.ts'
import { readHexSecret } from '../secret-bytes.ts'
import { type Seal, type Signer, SigningError, type SigningRequest } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'AUTHORISATION.true', failed: 'AUTHORISATION.false' }

/**
 * Adyen's payment webhooks (docs.adyen.com, "Verify HMAC signatures"): every item contains the HMAC-SHA256 of eight of its
 * properties in `additionalData.hmacSignature`; no header does. The secret is hexadecimal.
 */
export const adyen: Signer = {
  types,
  settings: [],
  writeEvent: (event) => writeEvents([event]),
  batch: { most: 250, writeEvents },
  sign: () => [],
  seal: { seal, signedOffsets } satisfies Seal,
}

interface Item {
  readonly additionalData?: object
  readonly amount?: { readonly value?: unknown; readonly currency?: unknown }
  readonly [member: string]: unknown
}

function writeEvents(events: readonly PaymentEvent[]): Uint8Array {
  const notificationItems = events.map((event) => ({ NotificationRequestItem: toItem(event) }))
  return writeJson({ live: 'false', notificationItems })
}

function toItem(event: PaymentEvent): Item {
  const { type, at } = toSchemeEvent(event, types)
  const [eventCode, success = 'true'] = type.split('.')
  const failed = success === 'false'
  return {
    additionalData: { authCode: '1234', cardSummary: '7777', expiryDate: '12/2030' },
    amount: { currency: event.currency, value: toUnitsOf('Adyen', event.amount, event.currency) },
    eventCode,
    eventDate: at,
    merchantAccountCode: 'OncehookECOM',
    merchantReference: event.orderId,
    operations: failed ? [] : ['CANCEL', 'CAPTURE', 'REFUND'],
    paymentMethod: 'visa',
    pspReference: event.paymentId,
    reason: failed ? 'Refused' : '033899:1111:03/2030',
    success,
  }
}

function seal({ body, secret }: SigningRequest): Uint8Array {
  const key = readHexSecret(secret)
  const { notificationItems, ...rest } = readJson(body)
  if (!Array.isArray(notificationItems))
    throw new SigningError('Adyen signs items, but the body has no notificationItems')
  const signed = notificationItems.map((entry: { NotificationRequestItem?: Item }) => {
    const item = entry?.NotificationRequestItem
    if (typeof item !== 'object') throw new SigningError('Adyen signs items, but one has no NotificationRequestItem')
    const hmacSignature = createHmac('sha256', key).update(textOf(item)).digest('base64')
    return { NotificationRequestItem: { ...item, additionalData: { ...item.additionalData, hmacSignature } } }
  })
  return writeJson({ ...rest, notificationItems: signed })
}

function textOf(item: Item): string {
  return [
    item.pspReference,
    item.originalReference,
    item.merchantAccountCode,
    item.merchantReference,
    item.amount?.value,
    item.amount?.currency,
    item.eventCode,
    item.success,
  ]
    .map((member) => String(member ?? ''))
    .join(':')
}

/** The last character of the merchant account of each item. */
function signedOffsets(body: Uint8Array): number[] {
  const text = Buffer.from(body).toString('latin1')
  return Array.from(
    text.matchAll(/"merchantAccountCode":"[^"]+(?=")/g),
    ({ 0: found, index }) => index + found.length - 1,
  )
}
