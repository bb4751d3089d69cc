import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import { expect, it } from 'vitest'
import { createOrders, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { type FaultProxy, startFaultProxy } from '../support/stack/fault-proxy.ts'
import type { ServiceUnderTest } from '../support/stack/service-under-test.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { LIMITED_GATEWAY } from '../support/stack/stack-settings.ts'
import { until } from '../support/until.ts'

const INNOCENT = 60
const MAX_CRASHES = 3
// The attempts with all others, with fewer others and alone.
const MOST_DEATHS = 12
const BURIED_WITHIN_MS = 150_000

interface Killing {
  readonly stack: Stack
  readonly between: FaultProxy
  readonly poison: PaymentEvent
  readonly victim: ServiceUnderTest
  /** Begins to deliver one more event after each death: without others, nobody can tell a poison from an outage. */
  readonly sendAnother: () => void
}

/** Kills and restarts a service whenever a call carries the poison, until the poison is dead. Returns how often. */
async function killWithPoison({ stack, between, poison, victim, sendAnother }: Killing): Promise<number> {
  const isOver = until(
    () => stack.events.countDocuments({ eventId: poison.id, state: 'dead' }),
    (count) => count === 1,
    BURIED_WITHIN_MS,
  )
  for (let deaths = 0; ; deaths += 1) {
    const struck = between.strike({ marker: poison.id, swallows: 'request' })
    const next = await Promise.race([struck.then(() => 'kill' as const), isOver.then(() => 'over' as const)])
    if (next === 'over') return deaths
    await victim.kill('SIGKILL')
    await victim.restart()
    sendAnother()
  }
}

it.each(['fulfilment', 'gateway'] as const)(
  'FP-37: an event that kills the %s at each try dies itself after a few, and takes no other event with it',
  async (name) => {
    await using between = await startFaultProxy()
    const limits = { MAX_CRASHES: String(MAX_CRASHES), TEST_LIMITS: JSON.stringify({ fulfilmentCallMs: 3_000 }) }
    const gateway = { FULFILMENT_URL: `http://127.0.0.1:${between.port}`, ...limits }
    await using stack = await startStack({ gateway, gatewayScript: LIMITED_GATEWAY })
    between.leadTo(stack.place.fulfilmentPort)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 100, parallel: 20 })
    const [poisoned, ...orders] = await createOrders(stack, INNOCENT + 1)
    if (poisoned === undefined) return expect.unreachable()
    const poison = paymentOf(poisoned)
    const sendAnother = (): void => {
      const [order = poisoned] = orders
      source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${source.log.length}` }))
      void source.run()
    }
    const killing = killWithPoison({ stack, between, poison, victim: stack[name], sendAnother })
    for (const order of orders.slice(0, 5)) source.add(paymentOf(order))
    source.add(poison)
    for (const order of orders.slice(5)) source.add(paymentOf(order))
    await source.run()
    const deaths = await killing
    await source.run()
    await outlastReceiptLeases(stack)
    await stack.untilSettled()
    const dead = await stack.events.find({ state: 'dead' }).toArray()
    expect(dead.map(({ eventId }) => eventId)).toEqual([poison.id])
    expect(deaths, 'deaths').toBeLessThanOrEqual(MOST_DEATHS)
    await stack.events.deleteMany({ eventId: poison.id })
    const innocent = source.log.filter(({ event }) => event.id !== poison.id)
    const row = { struck: { 'a death': deaths }, volume: INNOCENT }
    expect(await closingCheck(stack, innocent, row)).toEqual([])
  },
)
