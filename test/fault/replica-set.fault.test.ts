import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { adminCommand, type MongodUnderTest, startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const STEPPED_DOWN = { orders: 130, accepted: 500 }
const KILLED = { orders: 60, accepted: 200 }
const KILLS = 3
const RESUMED_WITHIN_MS = 15_000

/** Starts three nodes and a stack on them, with a source. Each round adds its own load to the source. */
async function startOnThreeNodes(resources: AsyncDisposableStack) {
  const set = resources.use(await startReplicaSet(3))
  const stack = resources.use(await startStack({ mongoUri: set.uri }))
  const source = resources.use(new WebhookSource(stack.provider('acme'), { perSecond: 150, parallel: 100 }))

  let rounds = 0
  let least = 0

  /**
   * One round: a new load, the fault during it, and the wait until all of the load is accepted. Returns
   * the milliseconds from the fault until a new event was accepted.
   */
  const round = async ({ orders, accepted }: typeof KILLED, strike: (primary: MongodUnderTest) => Promise<unknown>) => {
    addMixedLoad(source, await createOrders(stack, orders))
    const before = source.accepted
    const primary = await set.primary()
    const term = await termOf(primary)
    const finished = source.run()
    await source.untilAccepted(before + accepted / 4)
    await strike(primary)
    const struckAt = performance.now()
    expect(source.accepted - before, 'accepted before the fault').toBeLessThan(accepted)
    await untilTaken(stack)
    const ms = performance.now() - struckAt
    await finished
    expect(source.accepted - before, 'accepted in this round').toBeGreaterThanOrEqual(accepted)
    expect(await termOf(await set.primary()), 'the number of the election').toBeGreaterThan(term)
    rounds += 1
    least += accepted
    return ms
  }

  const nothingIsLost = async (orders: number): Promise<void> => {
    await outlastReceiptLeases(stack)
    await stack.untilSettled()
    await stack.events.deleteMany({ eventId: /^evt_strange_/ })
    const row = { struck: { 'an election': rounds }, volume: least }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
    expect(await stack.orderRecords.countDocuments({ status: 'paid' })).toBe(orders)
  }
  return { round, untilWhole: set.untilWhole, nothingIsLost }
}

describe('a primary of three that is lost under load', () => {
  it('FP-22: by a step-down: accepts resume within 15 s, nothing is lost and nothing happens twice', async () => {
    await using resources = new AsyncDisposableStack()
    const { round, nothingIsLost } = await startOnThreeNodes(resources)
    // A node that steps down may close the connection of the command.
    const stepDown = ({ port }: MongodUnderTest) =>
      adminCommand(port, { replSetStepDown: 20, force: true }).catch(() => null)
    expect(await round(STEPPED_DOWN, stepDown)).toBeLessThan(RESUMED_WITHIN_MS)
    await nothingIsLost(STEPPED_DOWN.orders)
  })

  it(`FP-23: by kill -9, ${KILLS} times: accepts resume within 15 s, nothing is lost and nothing happens twice`, async () => {
    await using resources = new AsyncDisposableStack()
    const { round, untilWhole, nothingIsLost } = await startOnThreeNodes(resources)
    const killed: MongodUnderTest[] = []
    while (killed.length < KILLS) {
      const ms = await round(KILLED, (primary) => {
        killed.push(primary)
        return primary.kill('SIGKILL')
      })
      expect(ms).toBeLessThan(RESUMED_WITHIN_MS)
      await killed.at(-1)?.start()
      await untilWhole()
    }
    await nothingIsLost(KILLS * KILLED.orders)
  })

  it('by a freeze: another node takes its place, nothing is lost and nothing happens twice', async () => {
    await using resources = new AsyncDisposableStack()
    const { round, untilWhole, nothingIsLost } = await startOnThreeNodes(resources)
    const frozen: MongodUnderTest[] = []
    await round(KILLED, async (primary) => {
      frozen.push(primary)
      primary.pause()
    })
    frozen[0]?.resume()
    await untilWhole()
    await nothingIsLost(KILLED.orders)
  })
})

const termOf = async ({ port }: MongodUnderTest): Promise<number> =>
  Number((await adminCommand(port, { replSetGetStatus: 1 })).term)

let strangers = 0

/** Delivers an event without a handler again and again until it is answered 200. */
async function untilTaken(stack: Stack): Promise<void> {
  strangers += 1
  const event = {
    id: `evt_strange_${strangers}`,
    type: 'invoice.created' as const,
    paymentId: 'pay_strange',
    orderId: 'ord_strange',
    amount: 1,
    currency: 'EUR',
    occurredAt: Date.now(),
  }
  await until(
    async () => (await stack.deliver(event)).status,
    (status) => status === 200,
  )
}
