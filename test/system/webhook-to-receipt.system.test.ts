import { afterAll, describe, expect, it } from 'vitest'
import { paymentOf, startStack } from '../support/stack/stack.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const stack = resources.use(await startStack())

/** Milliseconds from the 200 of a payment until its order was seen paid. */
async function payAndWatch(): Promise<number> {
  const order = await stack.orders.create()
  const { status } = await stack.deliver(paymentOf(order))
  const answeredAt = performance.now()
  expect(status).toBe(200)
  await stack.orders.untilStatus(order.id, 'paid')
  return performance.now() - answeredAt
}

async function receiptsOf({ id }: { readonly id: string }) {
  return (await stack.receipts()).filter(({ orderId }) => orderId === id)
}

describe('a signed payment', () => {
  it('pays its order, unlocks access and sends one receipt', async () => {
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
    expect(await receiptsOf(order)).toEqual([
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
    const seen: number[] = []
    while (seen.length < 10 && !seen.some((ms) => ms < 1_000)) seen.push(await payAndWatch())
    expect(Math.min(...seen)).toBeLessThan(1_000)
  })

  it('changes nothing when it is repeated, also after a restart of both services', async () => {
    const order = await stack.orders.create()
    const acme = stack.provider('acme')
    const message = acme.write(paymentOf(order))
    await acme.deliver(message)
    const paid = await stack.orders.untilStatus(order.id, 'paid')
    await stack.untilSettled()
    const receipts = await receiptsOf(order)

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
    expect(await stack.events.countDocuments({ eventId: message.eventId })).toBe(1)
    expect(await receiptsOf(order)).toEqual(receipts)
    expect(receipts).toHaveLength(1)
  })
})
