import { describe, expect, it } from 'vitest'
import { closingCheck } from '../support/closing-check.ts'
import { addMixedLoad, createOrders, outlastReceiptLeases } from '../support/mixed-load.ts'
import { command, startReplicaSet } from '../support/mongod-under-test.ts'
import { startStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { WebhookSource } from '../support/webhook-source.ts'

const ORDERS_A_ROUND = 80
const ACCEPTED_A_ROUND = 200
const KILLS = 2
const RESUMED_WITHIN_MS = 15_000

describe('a primary of three that goes', () => {
  it('FP-22 by a step-down, FP-23 by kill -9, under load: accepts resume within 15 s and nothing is lost', async () => {
    await using set = await startReplicaSet(3)
    await using stack = await startStack({ mongoUri: set.uri })
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 150, parallel: 100 })
    addMixedLoad(source, await createOrders(stack, ORDERS_A_ROUND * (KILLS + 1)))
    const finished = source.run()

    /** From the moment of the fault until an event that nobody had sent before was taken. */
    const untilResumed = async (strikes: () => Promise<unknown>): Promise<number> => {
      const before = source.accepted
      const struckAt = performance.now()
      await strikes()
      await until(
        async () => (await stack.deliver(strangeEvent())).status,
        (status) => status === 200,
      )
      const ms = performance.now() - struckAt
      await source.untilAccepted(before + ACCEPTED_A_ROUND)
      return ms
    }
    await source.untilAccepted(ACCEPTED_A_ROUND / 2)
    const first = await set.primary()
    // The node that steps down closes its connections, that of the command included.
    const resumed = [
      await untilResumed(() => command(first.port, { replSetStepDown: 20, force: true }).catch(() => null)),
    ]
    for (let round = 0; round < KILLS; round += 1) {
      const primary = await set.primary()
      resumed.push(await untilResumed(() => primary.kill('SIGKILL')))
      expect(await set.primary()).not.toBe(primary)
      await primary.start()
    }

    for (const ms of resumed) expect(ms).toBeLessThan(RESUMED_WITHIN_MS)
    await finished
    await outlastReceiptLeases(stack)
    await stack.untilSettled()
    await stack.events.deleteMany({ eventId: /^evt_strange_/ })
    expect(await closingCheck(stack, source.log)).toEqual([])
    expect(await stack.receipts()).toHaveLength(ORDERS_A_ROUND * (KILLS + 1))
  })
})

let strangers = 0

/** An event that nobody handles. */
function strangeEvent() {
  strangers += 1
  return {
    id: `evt_strange_${strangers}`,
    type: 'invoice.created' as const,
    paymentId: 'pay_strange',
    orderId: 'ord_strange',
    amount: 1,
    currency: 'EUR',
    occurredAt: Date.now(),
  }
}
