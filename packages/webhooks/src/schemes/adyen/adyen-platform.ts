import { resolvePointer } from '../../events/json-pointer.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { readHexKey } from '../../signatures/hex-key.ts'
import { idOfBytes, signedBody } from '../../signatures/signed-body.ts'
import { defineScheme } from '../scheme.ts'
import { minorUnitsOfAdyen } from './adyen-money.ts'

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
    ...signedBody({ algorithm: 'sha256', headers: ['hmacsignature'], encoding: 'base64' }),
    readKey: readHexKey,
    redelivery: { hours: 720, source: 'docs.adyen.com/development-resources/webhooks/troubleshoot' },
    permits: NO_PAYMENTS,
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const data = (member: string): unknown => resolvePointer(body, `/data/${member}`)
        const found = {
          id: idOfBytes(rawBody),
          type: body.type,
          status: data('status'),
          objectId: data('id') ?? data('balanceAccount/id') ?? data('accountHolder/id') ?? data('merchantId'),
          orderId: data('reference'),
          amount: minorUnitsOfAdyen(data('amount/value'), data('amount/currency')),
          currency: data('amount/currency'),
          occurredAt: body.timestamp ?? body.createdAt,
        }
        return [toEvent(found, { ...settings, types: {}, document: body })]
      },
  },
)
