import { keyUnknown, recordAltered } from '@oncehook/kernel/http/error-codes'
import { type Encryption, isSealed } from '@oncehook/kernel/secrets/encryption'
import { type Backoff, backoffMs, TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { memberPlace } from '../orders/stored/order-encryption.ts'
import type { ReceiptClaim, Settlement } from './claims/receipt-claim.ts'
import { type Receipt, type ReceiptSink, receiptOutcomeUnknown, receiptRefused } from './receipt-sink.ts'

/** Dependencies of sending a claimed receipt. */
export interface SendDeps {
  readonly sink: ReceiptSink
  /** Decrypts addresses. */
  readonly encryption: Encryption
  readonly backoff: Backoff
  readonly sendTimeoutMs: number
  readonly random: () => number
}

/** The error code of a receipt that was parked because its outcome is unknown. */
const UNKNOWN = 'outcome_unknown'

/** Sends one claimed receipt if there is still time for it, and returns the outcome. Never throws. */
export async function sendClaimed(deps: SendDeps, claim: ReceiptClaim, mayBegin: boolean): Promise<Settlement> {
  const { receipt } = claim
  const { sink, sendTimeoutMs } = deps
  // Found as `sending`: the worker that held it died or lost its lease. Keep this fact, whether or not an attempt
  // starts now.
  if (receipt.state === 'sending' && !sink.keyed) return { state: 'parked', code: UNKNOWN }
  if (!mayBegin) return { state: 'put_back', as: receipt.state }
  const limit = new AbortController()
  try {
    const sending = sink.send(toReceipt(deps, claim), limit.signal)
    if ((await withTimeout(sending, sendTimeoutMs)) !== TIMED_OUT) return { state: 'sent' }
    limit.abort()
    return sink.keyed ? again(deps, claim, 'timeout') : { state: 'parked', code: UNKNOWN }
  } catch (error) {
    return afterFailure(deps, claim, error)
  }
}

function afterFailure(deps: SendDeps, claim: ReceiptClaim, error: unknown): Settlement {
  const { receipt } = claim
  if (receiptRefused.is(error)) return { state: 'parked', code: error.code }
  if (recordAltered.is(error)) return { state: 'parked', code: error.code }
  // Nothing was attempted. The key may be configured again at any time.
  if (keyUnknown.is(error) && isSealed(receipt.email)) {
    return { state: 'waiting', keyId: receipt.email.key, attempts: receipt.attempts }
  }
  if (receiptOutcomeUnknown.is(error)) return { state: 'parked', code: UNKNOWN }
  return again(deps, claim, codeOf(error))
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
  // Only a sent receipt has its customer removed, and it is never sent again.
  if (customerId === null) throw new TypeError('A receipt without a customer cannot be sent')
  const isClear = typeof stored === 'string' || stored === null || stored === undefined
  const email = isClear ? stored : encryption.open(stored, memberPlace(orderId, 'email')).toString()
  return { key, orderId, paymentId, customerId, email, amount, currency, paidAt: paidAt.toISOString() }
}
