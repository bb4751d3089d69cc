import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { signedBody } from '../../signatures/signed-body.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme } from '../scheme.ts'
import { orderInMetadata } from './mollie-metadata.ts'

const TYPES = {
  'payment.paid': 'payment.succeeded',
  'payment-link.paid': 'payment.succeeded',
  'payment.canceled': 'payment.failed',
  'payment.expired': 'payment.failed',
} as const

/**
 * Mollie's newer webhooks (docs.mollie.com/reference/webhooks-new; SignatureValidator.php of mollie-api-php): HMAC-SHA256
 * of the body in hexadecimal in `X-Mollie-Signature`, with or without `sha256=` before it. It signs no time. Amount and
 * order are known if the webhook sends the full payload, which contains the entity.
 */
export const mollie = defineScheme(
  'mollie',
  {},
  {
    ...signedBody({
      algorithm: 'sha256',
      headers: ['x-mollie-signature'],
      encoding: 'hex',
      prefix: 'sha256=',
      prefixOptional: true,
    }),
    redelivery: UNDOCUMENTED,
    permits: { ...PAYMENTS, origin: ['/_embedded/entity/mode', '/_embedded/entity/profileId'] },
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const entity = (member: string): unknown => resolvePointer(body, `/_embedded/entity/${member}`)
        const currency = entity('amount/currency')
        const found = {
          id: body.id,
          type: body.type,
          objectId: body.entityId,
          orderId: orderInMetadata(entity('metadata')),
          amount: minorUnits(entity('amount/value'), currency),
          currency,
          occurredAt: body.createdAt,
        }
        return [toEvent(found, { ...settings, types: TYPES, document: body })]
      },
  },
)
