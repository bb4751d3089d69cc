import { describe, expect, it } from 'vitest'
import type { Order } from './orders.ts'
import type { Delivered, PaymentOutcome, SendRun } from './payments.ts'
import { checkSend } from './send-report.ts'

const order: Order = {
  id: 'ord_1',
  version: 1,
  status: 'pending',
  access: 'locked',
  amountDue: 1999,
  currency: 'EUR',
  payment: null,
  createdAt: '2026-01-01T00:00:00Z',
}

function delivered(status: number | null, count = 1): Delivered {
  const failure = status === null ? 'timeout' : null
  const events = Array(count).fill({ id: 'evt_1', type: 'payment.succeeded', orderId: 'ord_1' })
  return { eventId: 'evt_1', events, status, body: '', ms: 1, failure }
}

function outcome(after: Partial<Order>, rest: Partial<PaymentOutcome> = {}): PaymentOutcome {
  return {
    order,
    created: true,
    paymentId: 'pay_1',
    events: [],
    after: { ...order, ...after },
    seen: true,
    ms: 1,
    ...rest,
  }
}

function run(rest: Partial<SendRun>): SendRun {
  return {
    provider: 'acme',
    scheme: 'standard-webhooks',
    url: 'http://127.0.0.1/api/webhooks/acme',
    batch: 1,
    tampered: undefined,
    timeoutSeconds: 10,
    effect: 'paid',
    deliveries: [delivered(200)],
    payments: [outcome({ version: 2, status: 'paid' })],
    ...rest,
  }
}

describe('checkSend', () => {
  it.each([
    [
      'no answer',
      { deliveries: [delivered(200), delivered(null)] },
      { result: 'failed', summary: '1 of 2 deliveries were not answered by http' },
    ],
    [
      'some refused',
      { deliveries: [delivered(200), delivered(429)] },
      { result: 'refused', summary: '1 of 2 deliveries were refused with 429' },
    ],
    [
      'some refused, of which each has several events',
      { deliveries: [delivered(200, 250), delivered(413, 250), delivered(200, 3)] },
      { result: 'refused', summary: '1 of 3 deliveries (250 of 503 events) were refused with 413' },
    ],
    ['any 2xx but 200', { deliveries: [delivered(202)] }, { result: 'refused', summary: 'refused with 202' }],
    [
      'spoiled, wrong status',
      { tampered: 'body', deliveries: [delivered(404)] },
      { result: 'refused', summary: 'Refused, but with 404' },
    ],
    [
      'spoiled, changed',
      { tampered: 'body', deliveries: [delivered(401)] },
      { result: 'failed', summary: 'but order ord_1 changed' },
    ],
    [
      'spoiled, half of them taken',
      { tampered: 'body', deliveries: [delivered(401), delivered(200)] },
      { result: 'failed', summary: 'accepted although its body was tampered with' },
    ],
    [
      'unhandled, changed',
      { effect: 'none', payments: [outcome({ version: 2 }, { seen: false })] },
      { result: 'failed', summary: 'Accepted, but order ord_1 changed' },
    ],
    [
      'a failure not shown',
      { effect: 'payment_failed', payments: [outcome({}, { seen: false })] },
      { result: 'failed', summary: 'ord_1 did not show the failed payment within 10 s' },
    ],
    [
      'some of many unpaid',
      { payments: [outcome({}, { seen: false }), outcome({ version: 2 }), outcome({ version: 2 })] },
      { result: 'failed', summary: '1 of 3 orders did not become paid within 10 s' },
    ],
    [
      'many failures',
      { effect: 'payment_failed', payments: [outcome({ version: 2 }), outcome({ version: 2 })] },
      { result: 'done', summary: 'All 2 orders show that the payment failed' },
    ],
    [
      'one failure',
      { effect: 'payment_failed', payments: [outcome({ version: 2 })] },
      { result: 'done', summary: 'Order ord_1 shows that the payment failed' },
    ],
    [
      'a failure shown before',
      {
        effect: 'payment_failed',
        payments: [outcome({ status: 'payment_failed' }, { order: { ...order, status: 'payment_failed' } })],
      },
      { result: 'done', summary: 'nothing changed: order ord_1 already had this state' },
    ],
  ] as const)('summarizes %s', (_, rest, { result, summary }) => {
    expect(checkSend(run(rest))).toEqual({ result, summary: expect.stringContaining(summary) })
  })
})
