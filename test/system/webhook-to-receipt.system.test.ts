import { describe, expect, it } from 'vitest'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'

/** Milliseconds from the 200 of a payment until its order was seen paid. */
async function payAndWatch(stack: Stack): Promise<number> {
  const order = await stack.orders.create()
  const { status } = await stack.deliver(paymentOf(order))
  const answeredAt = performance.now()
  expect(status).toBe(200)
  await stack.orders.untilStatus(order.id, 'paid')
  return performance.now() - answeredAt
}

describe('a signed payment', () => {
  it('pays its order, unlocks access and sends one receipt', async () => {
    await using stack = await startStack()
    const order = await stack.orders.create()
    expect(order).toMatchObject({ status: 'pending', access: 'locked', amountDue: 2_000, payment: null, version: 1 })

    const payment = paymentOf(order)
    const answer = await stack.deliver(payment)
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: '{"received":true}' })

    const paid = await stack.orders.untilStatus(order.id, 'paid')
    expect(paid).toMatchObject({
      access: 'unlocked',
      version: 2,
      payment: { id: payment.paymentId, provider: 'acme', status: 'succeeded' },
    })
    await stack.untilSettled()
    expect(await stack.receipts()).toEqual([
      {
        key: expect.stringMatching(/^rcpt_/),
        orderId: order.id,
        paymentId: payment.paymentId,
        customerId: order.customerId,
        email: order.email,
        amount: 2_000,
        currency: 'EUR',
        paidAt: paid.payment?.at,
      },
    ])
  })

  it('unlocks access within a second of its 200, on a machine that is not too busy for it', async () => {
    await using stack = await startStack()
    const seen: number[] = []
    while (seen.length < 10 && !seen.some((ms) => ms < 1_000)) seen.push(await payAndWatch(stack))
    expect(Math.min(...seen)).toBeLessThan(1_000)
  })

  it('changes nothing when it is repeated, also after a restart of both services', async () => {
    await using stack = await startStack()
    const order = await stack.orders.create()
    const acme = stack.provider('acme')
    const message = acme.write(paymentOf(order))
    await acme.deliver(message)
    const paid = await stack.orders.untilStatus(order.id, 'paid')
    await stack.untilSettled()
    const receipts = await stack.receipts()

    expect((await acme.deliver(message)).status).toBe(200)
    await stack.untilSettled()
    expect(await stack.orders.read(order.id)).toEqual(paid)

    expect((await stack.gateway.kill('SIGTERM')).code).toBe(0)
    expect((await stack.fulfilment.kill('SIGTERM')).code).toBe(0)
    await Promise.all([stack.fulfilment.restart(), stack.gateway.restart()])
    await stack.untilReady()
    expect(await stack.orders.read(order.id)).toEqual(paid)
    expect((await acme.deliver(message)).status).toBe(200)
    await stack.untilSettled()

    expect(await stack.orders.read(order.id)).toEqual(paid)
    expect(await stack.events.countDocuments()).toBe(1)
    expect(await stack.receipts()).toEqual(receipts)
    expect(receipts).toHaveLength(1)
  })

  it('that failed shows in the order, and a later success wins over it', async () => {
    await using stack = await startStack()
    const order = await stack.orders.create()
    await stack.deliver(paymentOf(order, { type: 'payment.failed', paymentId: 'pay_first' }))
    const failed = await stack.orders.untilStatus(order.id, 'payment_failed')
    expect(failed).toMatchObject({ access: 'locked', version: 2, payment: { id: 'pay_first', status: 'failed' } })

    await stack.deliver(paymentOf(order, { paymentId: 'pay_second' }))
    expect(await stack.orders.untilStatus(order.id, 'paid')).toMatchObject({ access: 'unlocked', version: 3 })
    await stack.deliver(paymentOf(order, { type: 'payment.failed', paymentId: 'pay_third' }))
    await stack.untilSettled()
    expect(await stack.orders.read(order.id)).toMatchObject({
      status: 'paid',
      version: 3,
      payment: { id: 'pay_second' },
    })
    expect(await stack.receipts()).toHaveLength(1)
  })
})
