import { jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { readHexKey } from '../../signatures/read-key.ts'
import { defineScheme } from '../scheme.ts'
import { ADYEN_DECIMALS, minorUnitsOfAdyen } from './adyen-money.ts'

/**
 * Adyen's platform and management webhooks (docs.adyen.com/development-resources/webhooks/verify-hmac-signatures):
 * HMAC-SHA256 of the body in base64 in `HmacSignature`, keyed with the decoded hexadecimal key. It signs no time. The id
 * in the body is that of the object, which may change often, so the event id is made from the body. None of these webhooks
 * means that an order is paid. The settings may map their types, followed by the status.
 */
export const adyenPlatform = defineScheme(
  'adyen-platform',
  {},
  {
    ...bodySignature({ algorithm: 'sha256', headers: ['hmacsignature'], encoding: 'base64' }),
    readKey: readHexKey,
    redelivery: { hours: 720, source: 'docs.adyen.com/development-resources/webhooks/troubleshoot' },
    permits: NO_PAYMENTS,
    prepareReader: jsonReader({}, (body, at, { rawBody }) => ({
      id: idOfBytes(rawBody),
      type: body.type,
      status: at('/data/status'),
      objectId:
        at('/data/id') ?? at('/data/balanceAccount/id') ?? at('/data/accountHolder/id') ?? at('/data/merchantId'),
      orderId: at('/data/reference'),
      amount: minorUnitsOfAdyen(at('/data/amount/value'), at('/data/amount/currency')),
      currency: at('/data/amount/currency'),
      decimals: ADYEN_DECIMALS,
      occurredAt: body.timestamp ?? body.createdAt,
    })),
  },
)
