import { defineError, type ErrorFactory, type RetryClass } from '@oncehook/kernel/http/errors'

/** Check the id; PUT creates an order under it. */
export const orderNotFound = defineError('order_not_found', 404, 'Order not found')
/** Something else wrote to the database. */
export const orderUnreadable = defineError(
  'order_unreadable',
  409,
  'The stored order is damaged: repair it or delete it',
)
export const orderPaid = defineError('order_paid', 409, 'The items and currency of a paid order cannot be changed')
export const idMismatch = defineError('id_mismatch', 409, 'The id in the body does not match the URL')
export const patchUnprocessable = defineError('patch_unprocessable', 422, 'The patch does not result in a valid order')
/** Use a new one. */
export const idempotencyKeyReused = defineError(
  'idempotency_key_reused',
  422,
  'This Idempotency-Key was already used for a different request',
)
export const idempotencyInProgress = defineError(
  'idempotency_in_progress',
  409,
  'The first request with this Idempotency-Key is still running',
  'later',
)
/** It is owed, sent, or never existed. */
export const receiptNotParked = defineError('receipt_not_parked', 404, 'No parked receipt has this key')
export const encryptionKeyDiffers = defineError(
  'encryption_key_differs',
  409,
  'Fulfilment does not encrypt with the first key of the gateway: give both the same file of keys',
  'later',
)
export const eraseUnsettled = defineError(
  'erase_unsettled',
  409,
  'An event or receipt is not settled yet: erase again later',
  'later',
)
/** The event is retried until the waits add up to an hour. */
export const orderUnknown = defineError('order_unknown', 404, 'The order of the event does not exist', 'later')
export const orderDeleted = defineError('order_deleted', 409, 'The order of the event was deleted')
export const amountMismatch = defineError('amount_mismatch', 409, 'The amount differs from the amount due')
export const currencyMismatch = defineError(
  'currency_mismatch',
  409,
  'The currency differs from the currency of the order',
)
export const eventMismatch = defineError(
  'event_mismatch',
  409,
  'An event with the same id but different contents was already applied',
)
export const paymentUsedElsewhere = defineError(
  'payment_used_elsewhere',
  409,
  'This payment has already paid another order',
)
export const versionConflict = defineError('version_conflict', 409, 'The order is being changed concurrently', 'now')

/** A refusal returned as data: one event of a batch is refused, the others are processed. */
export interface Refusal {
  readonly refused: string
  readonly retry: RetryClass
}

export function toRefusal(entry: Pick<ErrorFactory, 'code' | 'retry'>): Refusal {
  return { refused: entry.code, retry: entry.retry }
}
