import { PAYMENT_EVENT_TYPES } from '../event.ts'
import { readStrictObject } from '../providers/read-event.ts'
import { UNDOCUMENTED } from '../providers/redelivery.ts'
import { defineScheme } from '../providers/scheme.ts'
import { idOfBytes, signedBody } from '../providers/signed-body.ts'
import { toEvent } from '../providers/to-event.ts'

/** A provider that the gateway does not know: all that it takes to add one. */
export const example = defineScheme(
  'example',
  {},
  {
    ...signedBody({ algorithm: 'sha512', headers: ['x-example-signature'], encoding: 'hex', prefix: 'v7=' }),
    redelivery: UNDOCUMENTED,
    permits: { effects: PAYMENT_EVENT_TYPES, requireAmount: false },
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const found = { id: idOfBytes(rawBody), type: body.what, objectId: body.which, orderId: body.order }
        return [toEvent(found, { ...settings, types: { settled: 'payment.succeeded' }, document: body })]
      },
  },
)
