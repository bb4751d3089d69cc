import { describe, expect, it } from 'vitest'
import { SAMPLE_PAYMENT } from '../testing/sample-payment.ts'
import { writePlainEvent } from './payment-event.ts'

describe('writePlainEvent', () => {
  it('writes the shape that a scheme without its own shape uses', () => {
    const event = { ...SAMPLE_PAYMENT, paymentId: 'pay_1' }
    expect(JSON.parse(Buffer.from(writePlainEvent(event)).toString())).toEqual({
      id: 'evt_1',
      type: 'payment.succeeded',
      data: { object: { id: 'pay_1', orderId: 'ord_1', amount: 1999, currency: 'EUR' } },
    })
  })
})
