import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { expect, it } from 'vitest'
import type { StoredReceipt } from '../orders/stored/order-document.ts'
import type { ReceiptSink } from './receipt-sink.ts'
import { type SendDeps, sendClaimed } from './send-claimed.ts'

const receipt: StoredReceipt = {
  ...{ key: 'rcpt_1', paymentId: 'p1', customerId: 'c1', email: null, amount: 300, currency: 'EUR' },
  ...{ paidAt: new Date(0), state: 'owed', fence: 0, dueAt: new Date(0), attempts: 0, lastError: null, sentAt: null },
}

function deps(sink: ReceiptSink, sendTimeoutMs: number): SendDeps {
  return { sink, encryption: NO_ENCRYPTION, backoff: { baseMs: 20, capMs: 50 }, sendTimeoutMs, random: () => 0.5 }
}

const claim = { orderId: 'o1', receipt, fence: 1 }

it('aborts an attempt after its time limit', async () => {
  const aborted = Promise.withResolvers<void>()
  const sink: ReceiptSink = {
    keyed: true,
    atOnce: 1,
    async send(_, signal) {
      signal.addEventListener('abort', () => aborted.resolve())
      await new Promise(() => {})
    },
    async close() {},
  }
  expect(await sendClaimed(deps(sink, 10), claim, true)).toMatchObject({ state: 'owed', code: 'timeout' })
  await aborted.promise
})
