import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { putOf } from '../support/load/orders-writes.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { startSecondGateway } from '../support/stack/second-gateway.ts'
import { paymentOf, startStack } from '../support/stack/stack.ts'
import { LIMITED_GATEWAY } from '../support/stack/stack-settings.ts'
import { until } from '../support/until.ts'

const LEASE_MS = 2_000
const CALL_TAKES_MS = 600
const CALL_MAY_TAKE_MS = 3_000
// A claim, takeover, one slow call; the rest is for a machine that is busy with other things.
const TAKEN_OVER_WITHIN_MS = LEASE_MS + CALL_MAY_TAKE_MS + 14_000
const ORDERS = 150
const TRIES_AN_ORDER = 25
// Both together hold 80.
const AT_THEIR_LIMIT = 120

it('FP-38: gateways at their limit take over the events of one that dies, and retry what is due', async () => {
  await using between = await startFaultProxy()
  between.delay(CALL_TAKES_MS / 2)
  const settings = {
    TEST_LIMITS: JSON.stringify({ dispatchBatch: 10, fulfilmentCallMs: CALL_MAY_TAKE_MS }),
    LEASE_MS: String(LEASE_MS),
    FULFILMENT_URL: `http://127.0.0.1:${between.port}`,
  }
  await using stack = await startStack({ gateway: settings, gatewayScript: LIMITED_GATEWAY })
  between.leadTo(stack.place.fulfilmentPort)
  await using second = await startSecondGateway(stack, settings, LIMITED_GATEWAY)
  await using source = new WebhookSource(stack.provider('acme'), { perSecond: 150, parallel: 50 })
  const [sample, ...orders] = await createOrders(stack, ORDERS)
  if (sample === undefined) return expect.unreachable()
  for (let count = 0; count < TRIES_AN_ORDER; count += 1) {
    for (const order of orders) {
      source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${count}_${order.id}` }))
    }
  }
  const finished = source.run()
  const isOpen = { state: { $in: ['pending', 'processing'] } } as const
  await until(
    () => stack.events.countDocuments(isOpen),
    (count) => count > AT_THEIR_LIMIT,
  )

  // An event without an order yet arrives at a gateway that is full.
  const early = paymentOf({ ...sample, id: `ord_early_${randomUUID()}`, amountDue: 500 })
  source.add(early)
  expect((await second.provider.deliver(second.provider.write(early))).status).toBe(200)
  const deferred = { eventId: early.id, 'attempts.code': 'order_unknown' }
  await until(
    () => stack.events.countDocuments(deferred),
    (count) => count === 1,
  )
  // It dies with calls in its hands that cannot end before. While the other one is frozen, all new claims are its own.
  stack.gateway.pause()
  const known = (await stack.events.distinct('claim')).filter((name) => name !== undefined)
  const held = { state: 'processing', claim: { $exists: true, $nin: known } } as const
  const untilSomeHeld = () =>
    until(
      () => stack.events.countDocuments(held),
      (count) => count > 0,
    )
  await untilSomeHeld()
  stack.fulfilment.pause()
  await untilSomeHeld()
  await second.gateway.kill('SIGKILL')
  const names = new Set((await stack.events.find(held).toArray()).flatMap(({ claim }) => claim ?? []))
  const orphans = { claim: { $in: [...names] } }
  const orphaned = await stack.events.countDocuments(orphans)
  const killedAt = performance.now()
  stack.gateway.resume()
  stack.fulfilment.resume()
  expect(await putOf(stack.orders, early.orderId)()).toBe(201)
  await until(
    () => stack.events.countDocuments(orphans),
    (count) => count === 0,
  )
  const ms = performance.now() - killedAt
  expect(source.left, 'deliveries that were still to come').toBeGreaterThan(0)
  expect(ms).toBeLessThan(TAKEN_OVER_WITHIN_MS)
  await until(
    () => stack.events.countDocuments({ eventId: early.id, state: 'done' }),
    (count) => count === 1,
  )
  await second.gateway.restart()
  between.delay(0)
  await finished
  await source.run()
  await until(
    () => stack.events.countDocuments(isOpen),
    (count) => count === 0,
    120_000,
  )
  await stack.untilSettled()
  const row = { struck: { 'an event of the dead gateway': orphaned }, volume: 1_000 }
  expect(await closingCheck(stack, source.log, row)).toEqual([])
})
