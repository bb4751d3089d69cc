import { PAYMENT_EVENT_TYPES } from '../event.ts'
import { readStrictObject } from '../events/read-event.ts'
import { toEvent } from '../events/to-event.ts'
import { UNDOCUMENTED } from '../schemes/redelivery.ts'
import { defineScheme } from '../schemes/scheme.ts'
import { idOfBytes, signedBody } from '../signatures/signed-body.ts'

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
