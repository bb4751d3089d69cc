import { defineError } from '@oncehook/kernel/http/errors'

/** A receipt passed to a sink. Amounts are integers in minor units; times are ISO 8601, UTC. */
export interface Receipt {
  readonly key: string
  readonly orderId: string
  readonly paymentId: string
  readonly customerId: string
  readonly email: string | null
  readonly amount: number
  readonly currency: string
  readonly paidAt: string
}

export interface ReceiptSink {
  /**
   * Whether the receiver deduplicates by key. If not, an attempt with an unknown outcome is never repeated: the
   * receipt is parked for an operator.
   */
  readonly keyed: boolean
  /** Error codes that concern a single receipt, such as a full mailbox, and not the sink. Default: none. */
  readonly ownCodes?: readonly string[]
  /**
   * The maximum number of parallel sends. More would queue inside the sink, and queueing must not count as part of an
   * attempt.
   */
  readonly atOnce: number
  /**
   * Checks before the first receipt whether receipts can be sent. Default: no check.
   * @throws SettingsError for a setting that an operator must correct
   */
  check?(): Promise<void>
  /**
   * Sends a receipt. The receipt is durable when this resolves. `signal` aborts an attempt that takes too long.
   * @throws receiptRefused if no retry can help, receiptOutcomeUnknown if it may have arrived and cannot safely be
   * sent again; any other error is retried
   */
  send(receipt: Receipt, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** It will never be accepted: [it is parked](../how-to/alert.md#parked-receipts). */
export const receiptRefused = defineError('receipt_refused', 422, 'The receipt cannot be sent')

/** The sink has no keys: [it is parked](../how-to/alert.md#parked-receipts), not sent again. */
export const receiptOutcomeUnknown = defineError(
  'receipt_outcome_unknown',
  502,
  'It is unknown whether the receipt arrived',
)
