import { keyUnknown, recordAltered } from '@oncehook/kernel/http/error-codes'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import { type Backoff, backoffMs, TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { memberPlace } from '../orders/stored/order-encryption.ts'
import type { ReceiptClaim, Settlement } from './claims/receipt-claim.ts'
import { type Receipt, type ReceiptSink, receiptOutcomeUnknown, receiptRefused } from './receipt-sink.ts'

export interface SendDeps {
  readonly sink: ReceiptSink
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
  if (receiptRefused.is(error)) return { state: 'parked', code: error.code }
  if (recordAltered.is(error)) return { state: 'parked', code: error.code }
  if (receiptOutcomeUnknown.is(error)) return { state: 'parked', code: UNKNOWN }
  return again(deps, claim, codeOf(error))
}

/** The longest wait after a failure of the sink: once it is back, no receipt waits longer than this. */
const MOST_OUTAGE_MS = 30_000

function again({ sink, backoff, random }: SendDeps, { receipt }: ReceiptClaim, code: string): Settlement {
  const capMs = isOwn(sink, code) ? backoff.capMs : Math.min(backoff.capMs, MOST_OUTAGE_MS)
  return { state: 'owed', code, waitMs: backoffMs({ ...backoff, capMs }, receipt.attempts, random) }
}

/** Whether an outcome is a failure of the sink, and would be that of other receipts, too. */
export function isOfSink(sink: ReceiptSink, settlement: Settlement): boolean {
  return settlement.state === 'owed' && !isOwn(sink, settlement.code)
}

function isOwn({ ownCodes = [] }: ReceiptSink, code: string): boolean {
  return code === keyUnknown.code || ownCodes.includes(code)
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
