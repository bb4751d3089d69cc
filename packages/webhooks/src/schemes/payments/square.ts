import { singleHeader } from '../../delivery.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { publicUrl } from '../../settings/shared-settings.ts'
import { decodeBase64, findSigner, hmac } from '../../signatures/signature.ts'
import { type CheckSignature, defineScheme, type Finding } from '../scheme.ts'

const TYPES = {
  'payment.created.COMPLETED': 'payment.succeeded',
  'payment.updated.COMPLETED': 'payment.succeeded',
  'payment.created.FAILED': 'payment.failed',
  'payment.updated.FAILED': 'payment.failed',
  'payment.created.CANCELED': 'payment.failed',
  'payment.updated.CANCELED': 'payment.failed',
} as const

/**
 * Square (developer.squareup.com/docs/webhooks/step3validate): HMAC-SHA256 in base64 over the notification address,
 * exactly as Square's dashboard shows it, and the body. It signs no time. The status of a payment decides what its event
 * means.
 */
export const square = defineScheme(
  'square',
  { publicUrl },
  {
    readKey: (text) => Buffer.from(text, 'utf8'),
    signedHeaders: () => ['x-square-hmacsha256-signature'],
    redelivery: { hours: 24, source: 'developer.squareup.com/docs/webhooks' },
    permits: { ...PAYMENTS, origin: ['/merchant_id'] },
    signsTime: () => false,
    prepare({ publicUrl: url }, secrets): CheckSignature {
      return ({ rawHeaders, rawBody }, now): Finding => {
        const value = singleHeader(rawHeaders, 'x-square-hmacsha256-signature')
        if (value === null) return { refused: 'header_missing' }
        const signature = decodeBase64(value)
        if (signature === null) return { refused: 'header_malformed' }
        const secretId = findSigner(secrets, [signature], { now, macOf: (key) => hmac('sha256', key, [url, rawBody]) })
        return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
      }
    },
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const at = (pointer: string): unknown => resolvePointer(body, pointer)
        const payment = (member: string): unknown => at(`/data/object/payment/${member}`)
        const found = {
          id: body.event_id,
          type: body.type,
          status: payment('status'),
          objectId: payment('id') ?? at('/data/id') ?? body.merchant_id,
          orderId: payment('reference_id') ?? payment('order_id'),
          amount: minorUnitsOfText(payment('amount_money/amount')),
          currency: payment('amount_money/currency'),
          occurredAt: body.created_at,
        }
        return [toEvent(found, { ...settings, types: TYPES, document: body })]
      },
  },
)
