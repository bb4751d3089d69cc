import { PAYMENT_EVENT_TYPES } from '../event.ts'
import { jsonReader } from '../events/event-reader.ts'
import { idOfBytes } from '../events/id-of-bytes.ts'
import { UNDOCUMENTED } from '../schemes/redelivery.ts'
import { defineScheme } from '../schemes/scheme.ts'
import { bodySignature } from '../signatures/body-signature.ts'

/** A provider that the gateway does not know: everything that is needed to add one. */
export const example = defineScheme(
  'example',
  {},
  {
    ...bodySignature({ algorithm: 'sha512', headers: ['x-example-signature'], encoding: 'hex', prefix: 'v7=' }),
    redelivery: UNDOCUMENTED,
    permits: { effects: PAYMENT_EVENT_TYPES, requireAmount: false },
    prepareReader: jsonReader({ settled: 'payment.succeeded' }, (body, _, { rawBody }) => ({
      id: idOfBytes(rawBody),
      type: body.what,
      objectId: body.which,
      orderId: body.order,
    })),
  },
)
