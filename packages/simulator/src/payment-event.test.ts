import { describe, expect, it } from 'vitest'
import { writePlainEvent } from './payment-event.ts'

describe('writePlainEvent', () => {
  it('writes the shape a scheme without one of its own uses', () => {
    const event = {
      id: 'evt_1',
      type: 'payment.succeeded',
      paymentId: 'pay_1',
      orderId: 'ord_1',
      amount: 1999,
      currency: 'EUR',
      occurredAt: 0,
    }
    expect(JSON.parse(Buffer.from(writePlainEvent(event)).toString())).toEqual({
      id: 'evt_1',
      type: 'payment.succeeded',
      data: { object: { id: 'pay_1', orderId: 'ord_1', amount: 1999, currency: 'EUR' } },
    })
  })
})
