import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { closingCheck } from '../support/closing-check.ts'
import { addMixedLoad, createOrders } from '../support/mixed-load.ts'
import { startSecondGateway } from '../support/second-gateway.ts'
import { paymentOf, startStack } from '../support/stack.ts'
import { until, untilEqual } from '../support/until.ts'
import { WebhookSource } from '../support/webhook-source.ts'

const LEASE_MS = 1_000
const BACKLOG = 1_000
const COPIES = 50
const EVENTS = 10

describe('two gateways on one inbox', () => {
  it('FP-03: 50 copies of one event, shared out between both, are fifty 200s, one record and one receipt', async () => {
    await using stack = await startStack()
    await using second = await startSecondGateway(stack)
    const providers = [stack.provider('acme'), second.provider]
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 100, parallel: 10 })
    for (const order of await createOrders(stack, EVENTS)) {
      source.add(paymentOf(order))
      const { message } = source.log.at(-1) ?? expect.unreachable()
      const copies = Array.from({ length: COPIES }, (_, index) => providers[index % 2]?.deliver(message))
      const answers = await Promise.all(copies)
      expect(answers.map((answer) => answer?.status)).toEqual(Array(COPIES).fill(200))
    }
    await source.run()
    await stack.untilSettled()
    expect(await closingCheck(stack, source.log)).toEqual([])
    expect(await stack.receipts()).toHaveLength(EVENTS)
    const copiesTaken = { deliveries: COPIES + 1 }
    await untilEqual(() => stack.events.countDocuments(copiesTaken), EVENTS)
  })

  it(`FP-12: share a backlog of ${BACKLOG}: each event has one effect, and each of them settles a tenth`, async () => {
    await using stack = await startStack({ gateway: { DISPATCH_BATCH: '50' } })
    await using second = await startSecondGateway(stack, { DISPATCH_BATCH: '50' })
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 1_000, parallel: 50 })
    for (const order of await createOrders(stack, BACKLOG / 2)) {
      source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${order.id}` }))
      source.add(paymentOf(order))
    }
    await stack.fulfilment.kill('SIGTERM')
    await source.run()
    const waiting = await stack.events.countDocuments({ state: { $in: ['pending', 'processing'] } })
    expect(waiting, 'events that waited').toBe(BACKLOG)
    await stack.fulfilment.restart()
    await stack.untilSettled()
    expect(await closingCheck(stack, source.log)).toEqual([])
    for (const gateway of [stack.gateway, second.gateway]) {
      expect(gateway.countOf('event.settled')).toBeGreaterThanOrEqual(BACKLOG / 10)
    }
  })

  it('FP-26: one that was frozen past its lease settles nothing when it wakes, and what it had is taken over', async () => {
    await using stack = await startStack({ gateway: { LEASE_MS: String(LEASE_MS) } })
    await using second = await startSecondGateway(stack, { LEASE_MS: String(LEASE_MS) })
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 400, parallel: 100 })
    const orders = await createOrders(stack, 60)
    addMixedLoad(source, orders)
    const finished = source.run()
    await source.untilAccepted(100)

    // Its calls are at a fulfilment that does not answer when it falls asleep: it wakes to answers that came too late.
    stack.fulfilment.pause()
    const held = { state: 'processing' } as const
    await until(
      () => stack.events.countDocuments(held),
      (count) => count > 0,
    )
    stack.gateway.pause()
    const asleep = await stack.events.find(held).toArray()
    stack.fulfilment.resume()
    const before = second.gateway.countOf('event.taken-over')
    await until(
      () => second.gateway.countOf('event.taken-over'),
      (count) => count > before,
    )
    const ids = asleep.map(({ eventId }) => eventId)
    await untilEqual(() => stack.events.countDocuments({ eventId: { $in: ids }, state: 'done' }), ids.length)
    const settled = await stack.events.find({ eventId: { $in: ids } }).toArray()
    stack.gateway.resume()
    await finished
    await stack.untilSettled()
    await sleep(2 * LEASE_MS)

    expect(settled.filter(({ starts }) => starts >= 2).length, 'events that were taken over').toBeGreaterThan(0)
    const strip = ({ state, starts, attempts }: (typeof settled)[number]) => ({ state, starts, attempts })
    const awake = await stack.events.find({ eventId: { $in: ids } }).toArray()
    expect(awake.map(strip)).toEqual(settled.map(strip))
    const metrics = await (await fetch(`http://127.0.0.1:${stack.place.adminPort}/metrics`)).text()
    expect(Number(/^oncehook_claims_lost_total (\d+)/m.exec(metrics)?.[1]), 'claims it had lost').toBeGreaterThan(0)
    expect(await closingCheck(stack, source.log)).toEqual([])
    expect(source.accepted).toBeGreaterThanOrEqual(4 * orders.length)
  })
})
