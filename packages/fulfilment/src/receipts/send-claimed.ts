import { type Backoff, backoffMs } from '@oncehook/kernel/backoff'
import { type Encryption, isSealed } from '@oncehook/kernel/encryption'
import { keyUnknown, recordAltered } from '@oncehook/kernel/error-codes'
import { LATE, within } from '@oncehook/kernel/within'
import { memberPlace } from '../orders/order-encryption.ts'
import type { ReceiptClaim, Settlement } from './receipt-claims.ts'
import { type Receipt, type ReceiptSink, receiptOutcomeUnknown, receiptRefused } from './receipt-sink.ts'

/** What sending a claimed receipt works with. */
export interface SendDeps {
  readonly sink: ReceiptSink
  /** By which addresses are read that are encrypted. */
  readonly encryption: Encryption
  readonly backoff: Backoff
  readonly sendTimeoutMs: number
  readonly random: () => number
}

/** The code of a receipt that was parked because nobody knows whether it arrived. */
const UNKNOWN = 'outcome_unknown'

/** Sends one claimed receipt, if it may still begin, and tells what became of it; never throws. */
export async function sendClaimed(deps: SendDeps, claim: ReceiptClaim, mayBegin: boolean): Promise<Settlement> {
  const { receipt } = claim
  const { sink, sendTimeoutMs } = deps
  // Found in `sending`: the worker that had it died, or lost its lease. That must not be forgotten, begun now or not.
  if (receipt.state === 'sending' && !sink.keyed) return { state: 'parked', code: UNKNOWN }
  if (!mayBegin) return { state: 'put_back', as: receipt.state }
  const signal = AbortSignal.timeout(sendTimeoutMs)
  try {
    const ended = await within(
      sink.send(toReceipt(deps, claim), { repeated: receipt.attempts > 0, signal }),
      sendTimeoutMs,
    )
    if (ended !== LATE) return { state: 'sent' }
    return sink.keyed ? again(deps, claim, 'timeout') : { state: 'parked', code: UNKNOWN }
  } catch (error) {
    if (receiptRefused.is(error)) return { state: 'parked', code: error.code }
    if (recordAltered.is(error)) return { state: 'parked', code: error.code }
    // Nothing was begun. The key may be back at any time.
    if (keyUnknown.is(error)) return again(withCap(deps, KEY_CAP_MS), claim, error.code)
    if (receiptOutcomeUnknown.is(error)) return { state: 'parked', code: UNKNOWN }
    return again(deps, claim, codeOf(error))
  }
}

const KEY_CAP_MS = 30_000

function withCap(deps: SendDeps, capMs: number): SendDeps {
  return { ...deps, backoff: { ...deps.backoff, capMs: Math.min(deps.backoff.capMs, capMs) } }
}

function again({ backoff, random }: SendDeps, { receipt }: ReceiptClaim, code: string): Settlement {
  return { state: 'owed', code, waitMs: backoffMs(backoff, receipt.attempts, random) }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code.slice(0, 64) : 'send_failed'
}

function toReceipt({ encryption }: SendDeps, { orderId, receipt }: ReceiptClaim): Receipt {
  const { key, paymentId, customerId, email: stored, amount, currency, paidAt } = receipt
  // Only what was sent forgets its customer, and is not sent again.
  if (customerId === null) throw new TypeError('A receipt that was forgotten cannot be sent')
  const email = isSealed(stored) ? encryption.open(stored, memberPlace(orderId, 'email')).toString() : stored
  return { key, orderId, paymentId, customerId, email, amount, currency, paidAt: paidAt.toISOString() }
}
