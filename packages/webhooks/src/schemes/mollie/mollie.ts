import { jsonReader } from '../../events/event-reader.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme } from '../scheme.ts'
import { orderOfMollie } from './mollie-metadata.ts'

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
    ...bodySignature({
      algorithm: 'sha256',
      headers: ['x-mollie-signature'],
      encoding: 'hex',
      prefix: 'sha256=',
      prefixOptional: true,
    }),
    redelivery: UNDOCUMENTED,
    permits: { ...PAYMENTS, origin: ['/_embedded/entity/mode', '/_embedded/entity/profileId'] },
    prepareReader: jsonReader(TYPES, (body, at) => ({
      id: body.id,
      type: body.type,
      objectId: body.entityId,
      orderId: orderOfMollie(at('/_embedded/entity/metadata')),
      amount: minorUnits(at('/_embedded/entity/amount/value'), at('/_embedded/entity/amount/currency')),
      currency: at('/_embedded/entity/amount/currency'),
      occurredAt: body.createdAt,
    })),
  },
)
