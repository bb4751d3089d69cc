import { defineError, type ErrorFactory, type RetryClass } from '@oncehook/kernel/http/errors'

export const orderNotFound = defineError('order_not_found', {
  status: 404,
  retry: 'never',
  message: 'Order not found',
})
export const orderUnreadable = defineError('order_unreadable', {
  status: 409,
  retry: 'never',
  message: 'The stored order is damaged: repair it or delete it',
})
export const orderPaid = defineError('order_paid', {
  status: 409,
  retry: 'never',
  message: 'The items and currency of a paid order cannot be changed',
})
export const idMismatch = defineError('id_mismatch', {
  status: 409,
  retry: 'never',
  message: 'The id in the body does not match the URL',
})
export const patchUnprocessable = defineError('patch_unprocessable', {
  status: 422,
  retry: 'never',
  message: 'The patch does not result in a valid order',
})
export const idempotencyKeyReused = defineError('idempotency_key_reused', {
  status: 422,
  retry: 'never',
  message: 'This Idempotency-Key was already used for a different request',
})
export const idempotencyInProgress = defineError('idempotency_in_progress', {
  status: 409,
  retry: 'later',
  message: 'The first request with this Idempotency-Key is still running',
})
export const receiptNotParked = defineError('receipt_not_parked', {
  status: 404,
  retry: 'never',
  message: 'No parked receipt has this key',
})
export const encryptionKeyDiffers = defineError('encryption_key_differs', {
  status: 409,
  retry: 'later',
  message: 'Fulfilment does not encrypt with the first key of the gateway: give both the same file of keys',
})
export const eraseUnsettled = defineError('erase_unsettled', {
  status: 409,
  retry: 'later',
  message: 'An event or receipt is not settled yet: erase again later',
})
export const orderUnknown = defineError('order_unknown', {
  status: 404,
  retry: 'later',
  message: 'The order of the event does not exist',
})
export const orderDeleted = defineError('order_deleted', {
  status: 409,
  retry: 'never',
  message: 'The order of the event was deleted',
})
export const amountMismatch = defineError('amount_mismatch', {
  status: 409,
  retry: 'never',
  message: 'The amount differs from the amount due',
})
export const currencyMismatch = defineError('currency_mismatch', {
  status: 409,
  retry: 'never',
  message: 'The currency differs from the currency of the order',
})
export const eventMismatch = defineError('event_mismatch', {
  status: 409,
  retry: 'never',
  message: 'An event with the same id but different contents was already applied',
})
export const paymentUsedElsewhere = defineError('payment_used_elsewhere', {
  status: 409,
  retry: 'never',
  message: 'This payment has already paid another order',
})
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

export function toRefusal(entry: Pick<ErrorFactory, 'code' | 'retry'>): Refusal {
  return { refused: entry.code, retry: entry.retry }
}
