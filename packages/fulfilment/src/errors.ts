import { defineError, type ErrorFactory, type RetryClass } from '@oncehook/kernel/http/errors'

/** The order does not exist or was deleted. */
export const orderNotFound = defineError('order_not_found', {
  status: 404,
  retry: 'never',
  message: 'Order not found',
})
/** The stored order is malformed: another program wrote to the database. */
export const orderUnreadable = defineError('order_unreadable', {
  status: 409,
  retry: 'never',
  message: 'The stored order is damaged: repair it or delete it',
})
/** The items and currency of a paid order cannot be changed. */
export const orderPaid = defineError('order_paid', {
  status: 409,
  retry: 'never',
  message: 'The items and currency of a paid order cannot be changed',
})
/** The body of a PUT contains another order id than the URL. */
export const idMismatch = defineError('id_mismatch', {
  status: 409,
  retry: 'never',
  message: 'The id in the body does not match the URL',
})
/** A merge patch (RFC 7396) whose result is not a valid order (RFC 5789 section 2.2). */
export const patchUnprocessable = defineError('patch_unprocessable', {
  status: 422,
  retry: 'never',
  message: 'The patch does not result in a valid order',
})
/** An Idempotency-Key was reused with another request. */
export const idempotencyKeyReused = defineError('idempotency_key_reused', {
  status: 422,
  retry: 'never',
  message: 'This Idempotency-Key was already used for a different request',
})
/** The first request with an Idempotency-Key has not finished yet. */
export const idempotencyInProgress = defineError('idempotency_in_progress', {
  status: 409,
  retry: 'later',
  message: 'The first request with this Idempotency-Key is still running',
})

/** No parked receipt has this key: it is owed, sent or does not exist. */
export const receiptNotParked = defineError('receipt_not_parked', {
  status: 404,
  retry: 'never',
  message: 'No parked receipt has this key',
})

/** A rotation is for another key than the one that encrypts here; nothing was changed. */
export const encryptionKeyDiffers = defineError('encryption_key_differs', {
  status: 409,
  retry: 'later',
  message: 'Fulfilment does not encrypt with the first key of the gateway: give both the same file of keys',
})

/** The data to be erased is still in use: an event is unsettled, or a receipt is not sent. */
export const eraseUnsettled = defineError('erase_unsettled', {
  status: 409,
  retry: 'later',
  message: 'An event or receipt is not settled yet: erase again later',
})

/** The event refers to an order that does not exist, or not yet. */
export const orderUnknown = defineError('order_unknown', {
  status: 404,
  retry: 'later',
  message: 'The order of the event does not exist',
})
/** The event refers to a deleted order. */
export const orderDeleted = defineError('order_deleted', {
  status: 409,
  retry: 'never',
  message: 'The order of the event was deleted',
})
/** The amount of the event differs from the amount due. */
export const amountMismatch = defineError('amount_mismatch', {
  status: 409,
  retry: 'never',
  message: 'The amount differs from the amount due',
})
/** The currency of the event differs from the currency of the order. */
export const currencyMismatch = defineError('currency_mismatch', {
  status: 409,
  retry: 'never',
  message: 'The currency differs from the currency of the order',
})
/** The id of an applied event was reused with other contents. */
export const eventMismatch = defineError('event_mismatch', {
  status: 409,
  retry: 'never',
  message: 'An event with the same id but different contents was already applied',
})
/** The payment of the event has already paid another order. */
export const paymentUsedElsewhere = defineError('payment_used_elsewhere', {
  status: 409,
  retry: 'never',
  message: 'This payment has already paid another order',
})
/** Every attempt lost to a concurrent change of the order. */
export const versionConflict = defineError('version_conflict', {
  status: 409,
  retry: 'now',
  message: 'The order is being changed concurrently',
})

/** A refusal returned as data: one event of a batch is refused, the others are processed. */
export interface Refusal {
  readonly refused: string
  readonly retry: RetryClass
}

/** Converts a catalogue error to a refusal. */
export function toRefusal(entry: Pick<ErrorFactory, 'code' | 'retry'>): Refusal {
  return { refused: entry.code, retry: entry.retry }
}
