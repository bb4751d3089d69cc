import { singleHeader } from '../../delivery.ts'
import { orderInFreeFields } from '../../events/free-fields.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { bytesOf, onlyValueOf } from '../../signatures/member-list.ts'
import { findSigner, hmac, isWithinTolerance } from '../../signatures/signature.ts'
import { type CheckSignature, defineScheme, type Finding } from '../scheme.ts'

const TYPES = {
  'transaction.completed': 'payment.succeeded',
  'transaction.payment_failed': 'payment.failed',
} as const

/**
 * Paddle Billing (developer.paddle.com/webhooks/signature-verification): HMAC-SHA256 in hexadecimal over timestamp, colon
 * and body, in `Paddle-Signature: ts=…;h1=…`. During a rotation there are several `h1`, in any order. Paddle's own
 * libraries allow 5 seconds, which loses deliveries.
 */
export const paddle = defineScheme(
  'paddle',
  {},
  {
    readKey: (text) => Buffer.from(text, 'utf8'),
    signedHeaders: () => ['paddle-signature'],
    redelivery: { hours: 72, source: 'developer.paddle.com/webhooks: 60 retries' },
    permits: PAYMENTS,
    signsTime: () => true,
    prepare({ toleranceSeconds }, secrets): CheckSignature {
      return ({ rawHeaders, rawBody }, now): Finding => {
        const header = singleHeader(rawHeaders, 'paddle-signature')
        if (!header) return { refused: 'header_missing' }
        const members = { header, separator: ';' }
        const timestamp = onlyValueOf(members, 'ts')
        if (timestamp === undefined) return { refused: 'header_malformed' }
        if (!isWithinTolerance(timestamp, toleranceSeconds, now)) return { refused: 'timestamp_outside_window' }
        const signatures = bytesOf(members, 'h1')
        const parts = [`${timestamp}:`, rawBody]
        const secretId = findSigner(secrets, signatures, { now, macOf: (key) => hmac('sha256', key, parts) })
        return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
      }
    },
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const data = (member: string): unknown => resolvePointer(body, `/data/${member}`)
        const found = {
          id: body.event_id,
          type: body.event_type,
          objectId: data('id'),
          orderId: orderInFreeFields(data('custom_data')),
          amount: minorUnitsOfText(data('details/totals/grand_total')),
          currency: data('currency_code'),
          occurredAt: body.occurred_at,
        }
        return [toEvent(found, { ...settings, types: TYPES, document: body })]
      },
  },
)
