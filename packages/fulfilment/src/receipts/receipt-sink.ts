import { defineError } from '@oncehook/kernel/errors'

/** A receipt as sinks get it. Amounts are integers in minor units, times ISO 8601, UTC. */
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

/** One attempt to send a receipt. */
export interface SendAttempt {
  /** An earlier attempt with this key was begun: it may have arrived. */
  readonly repeated: boolean
  /** Ends the attempt when it takes too long. */
  readonly signal: AbortSignal
}

/** Where receipts go. */
export interface ReceiptSink {
  /**
   * Whether the same key sent twice shows once. If not, an attempt of unknown outcome is never repeated: the receipt is
   * parked for an operator.
   */
  readonly keyed: boolean
  /** Codes of errors that concern one receipt, and say nothing about others: a mailbox that is full. Default: none. */
  readonly ownCodes?: readonly string[]
  /** How many sends may run at once: more would wait inside the sink, and a wait is no part of an attempt. */
  readonly atOnce: number
  /**
   * Looks whether receipts can be sent as things stand, before the first one. Default: nothing is known before.
   * @throws SettingsError for what a person must put right
   */
  check?(): Promise<void>
  /**
   * Sends a receipt, durably when it resolves.
   * @throws receiptRefused when no retry can help, receiptOutcomeUnknown when it may have arrived and cannot be sent
   * again safely; anything else is tried again
   */
  send(receipt: Receipt, attempt: SendAttempt): Promise<void>
  /**
   * Removes customer and e-mail of receipts that it keeps itself, by their keys. Default: it keeps none.
   * @throws unavailable when it cannot do so now
   */
  forget?(keys: readonly string[]): Promise<void>
  /** Ends what is open. */
  close(): Promise<void>
}

/** The sink will never take this receipt: it is parked for an operator. */
export const receiptRefused = defineError('receipt_refused', {
  status: 422,
  retry: 'never',
  says: 'The receipt cannot be sent',
})

/** A sink without keys cannot tell whether this attempt arrived: the receipt is parked, not sent blindly again. */
export const receiptOutcomeUnknown = defineError('receipt_outcome_unknown', {
  status: 502,
  retry: 'never',
  says: 'Nobody knows whether the receipt arrived',
})
