import { defineError, type ErrorFactory, type RetryClass } from '@oncehook/kernel/errors'

/** No order is known under this id, or it was deleted. */
export const orderNotFound = defineError('order_not_found', {
  status: 404,
  retry: 'never',
  says: 'No order is known under this id',
})
/** The stored order is not what its representation is made of: something else wrote to the database. */
export const orderUnreadable = defineError('order_unreadable', {
  status: 409,
  retry: 'never',
  says: 'The stored order is damaged and cannot be shown: delete it, or have it put right',
})
/** A paid order keeps its items and its currency. */
export const orderPaid = defineError('order_paid', {
  status: 409,
  retry: 'never',
  says: 'The order is paid: its items and currency stay as they are',
})
/** The body of a PUT names another order than its address does. */
export const idMismatch = defineError('id_mismatch', {
  status: 409,
  retry: 'never',
  says: 'The body names another id than the address',
})
/** A merge patch (RFC 7396) that cannot give a legal order (RFC 5789 section 2.2). */
export const patchUnprocessable = defineError('patch_unprocessable', {
  status: 422,
  retry: 'never',
  says: 'The patch does not give a valid order',
})
/** An Idempotency-Key came back with another request. */
export const idempotencyKeyReused = defineError('idempotency_key_reused', {
  status: 422,
  retry: 'never',
  says: 'This Idempotency-Key was used for another request',
})
/** The first request under an Idempotency-Key has not ended yet. */
export const idempotencyInProgress = defineError('idempotency_in_progress', {
  status: 409,
  retry: 'later',
  says: 'The first request with this Idempotency-Key is still running',
})

/** No receipt with this key is parked: it is owed, sent, or was never there. */
export const receiptNotParked = defineError('receipt_not_parked', {
  status: 404,
  retry: 'never',
  says: 'No parked receipt has this key',
})

/** What is to be erased is still under way: an event without a verdict, or a receipt that is not sent. */
export const eraseUnsettled = defineError('erase_unsettled', {
  status: 409,
  retry: 'later',
  says: 'An event or a receipt is still under way: erase again when it is settled',
})

/** An event names an order that is not there, or not yet. */
export const orderUnknown = defineError('order_unknown', {
  status: 404,
  retry: 'later',
  says: 'The event names an unknown order',
})
/** An event names an order that was deleted. */
export const orderDeleted = defineError('order_deleted', {
  status: 409,
  retry: 'never',
  says: 'The event names a deleted order',
})
/** An event tells of another amount than the order's. */
export const amountMismatch = defineError('amount_mismatch', {
  status: 409,
  retry: 'never',
  says: 'The amount differs from the amount due',
})
/** An event tells of another currency than the order's. */
export const currencyMismatch = defineError('currency_mismatch', {
  status: 409,
  retry: 'never',
  says: 'The currency differs from the currency of the order',
})
/** The id of an event that was applied came back with other contents. */
export const eventMismatch = defineError('event_mismatch', {
  status: 409,
  retry: 'never',
  says: 'An event with this id and other contents was applied before',
})
/** The payment of an event has paid another order. */
export const paymentUsedElsewhere = defineError('payment_used_elsewhere', {
  status: 409,
  retry: 'never',
  says: 'This payment has paid another order',
})
/** Others changed the order faster, time after time. */
export const versionConflict = defineError('version_conflict', {
  status: 409,
  retry: 'now',
  says: 'The order is being changed by others',
})

/** A refusal as data: one event of a batch is refused, the others go on. */
export interface Refusal {
  readonly refused: string
  readonly retry: RetryClass
}

/** The refusal that a catalogue entry stands for. */
export function toRefusal(entry: Pick<ErrorFactory, 'code' | 'retry'>): Refusal {
  return { refused: entry.code, retry: entry.retry }
}
