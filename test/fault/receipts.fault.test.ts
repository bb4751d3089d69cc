import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import type { ApiOrder } from '../support/stack/records.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { untilEqual } from '../support/until.ts'

const ORDERS = 500

/** Starts the receiver of an `https:` sink. The test chooses its answers, and it keeps all that it received. */
async function startReceiver(answer: (key: string, attempt: number) => number | 'nothing') {
  const attempts = new Map<string, { orderId: string; statuses: (number | 'nothing')[] }>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const key = String(request.headers['idempotency-key'])
    const { orderId } = JSON.parse(body) as { orderId: string }
    const seen = attempts.get(key) ?? { orderId, statuses: [] }
    attempts.set(key, seen)
    const status = answer(key, seen.statuses.length + 1)
    seen.statuses.push(status)
    if (status === 'nothing') request.socket.destroy()
    else response.writeHead(status).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    sink: `http://127.0.0.1:${(server.address() as AddressInfo).port}/receipts`,
    attempts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function payAll(stack: Stack): Promise<ApiOrder[]> {
  const orders = await createOrders(stack, ORDERS)
  await using source = new WebhookSource(stack.provider('acme'), { perSecond: 200, parallel: 50 })
  for (const order of orders) source.add(paymentOf(order))
  await source.run()
  return orders
}

function countOf(stack: Stack, filter: object): Promise<number> {
  return stack.orderRecords.countDocuments(filter)
}

describe('a receiver of receipts that', () => {
  it('FP-14: is unavailable delays no payment; each receipt arrives once it is back, under one key', async () => {
    let isAway = true
    let refused = 0
    await using receiver = await startReceiver(() => {
      if (!isAway) return 200
      refused += 1
      return 'nothing'
    })
    await using stack = await startStack({ fulfilment: { RECEIPT_SINK: receiver.sink } })
    const orders = await payAll(stack)
    await untilEqual(() => countOf(stack, { status: 'paid', access: 'unlocked' }), ORDERS)
    await expect.poll(() => refused).toBeGreaterThan(0)
    expect(await countOf(stack, { 'receipts.state': 'sent' })).toBe(0)
    isAway = false
    await stack.untilSettled()
    expect(await countOf(stack, { 'receipts.state': 'sent', receipts: { $size: 1 } })).toBe(ORDERS)
    const served = [...receiver.attempts.values()]
    expect(served.map(({ orderId }) => orderId).toSorted()).toEqual(orders.map(({ id }) => id).toSorted())
    for (const { statuses } of served) expect(statuses.filter((status) => status === 200)).toEqual([200])
  })

  it('FP-15: answers 500 twice gets the same key a third time, and no other', async () => {
    await using receiver = await startReceiver((_, attempt) => (attempt <= 2 ? 500 : 200))
    await using stack = await startStack({ fulfilment: { RECEIPT_SINK: receiver.sink } })
    const orders = await payAll(stack)
    await untilEqual(() => countOf(stack, { status: 'paid', 'receipts.state': 'sent' }), ORDERS)
    const served = [...receiver.attempts.values()]
    expect(served.map(({ orderId }) => orderId).toSorted()).toEqual(orders.map(({ id }) => id).toSorted())
    for (const { statuses } of served) expect(statuses).toEqual([500, 500, 200])
    expect(await countOf(stack, { 'receipts.attempts': 3 })).toBe(ORDERS)
  })
})
