import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders, createOrdersAfterFault, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { directClient } from '../support/mongod/direct-client.ts'
import {
  adminCommand,
  type MongodUnderTest,
  type ReplicaSetUnderTest,
  startReplicaSet,
} from '../support/mongod/mongod-under-test.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startSecondGateway } from '../support/stack/second-gateway.ts'
import { paymentOf, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'
import { type CutLinks, startCutLinks } from './cut-links.ts'

const ORDERS = 33
const STRANDED = 20

type Sides = readonly [old: MongodUnderTest, others: readonly MongodUnderTest[]]

const PARTITIONS: Readonly<Record<string, (links: CutLinks, sides: Sides) => void>> = {
  'in both directions': (links, [old, others]) => {
    for (const node of others) {
      links.cut(old, node)
      links.cut(node, old)
    }
  },
  'in one direction: nothing that it sends arrives': (links, [old, others]) => {
    for (const node of others) {
      links.cut(old, node)
      // Over an existing connection, a request for a vote would arrive and make the old primary step down.
      links.disconnect(node, old)
    }
  },
}

const isPrimary = async ({ port }: MongodUnderTest): Promise<boolean> =>
  (await adminCommand(port, { hello: 1 })).isWritablePrimary === true

/** Waits until these nodes have given up on another one, so that an election does not wait for its answers. */
async function untilGivenUp(set: ReplicaSetUnderTest, lost: MongodUnderTest, nodes: readonly MongodUnderTest[]) {
  const healthAt = async ({ port }: MongodUnderTest): Promise<number | undefined> => {
    const { members } = await adminCommand(port, { replSetGetStatus: 1 })
    const found = (members as { _id: number; health: number }[]).find(({ _id }) => _id === set.nodes.indexOf(lost))
    return found?.health
  }
  await until(
    () => Promise.all(nodes.map(healthAt)),
    (healths) => healths.every((health) => health === 0),
  )
}

describe('in a partition with an old and a new primary,', () => {
  it('FP-39: a gateway that sees only the old one acknowledges nothing, the other loses nothing', async () => {
    await using links = startCutLinks()
    await using set = await startReplicaSet(3, { electionsByHand: true, reachedAt: links.reachedAt })
    await using stack = await startStack({ mongoUri: set.uri })
    await using stranded = await startSecondGateway(stack)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 150, parallel: 100 })
    // A row that fails must not leave a partition, because nothing could be stopped in order.
    await using unhealed = new AsyncDisposableStack()
    unhealed.defer(() => links.heal())
    const struck: Record<string, number> = {}

    for (const [name, partition] of Object.entries(PARTITIONS)) {
      const payments = (await createOrdersAfterFault(stack, STRANDED)).map((order) => paymentOf(order))
      const [before, after] = [await createOrders(stack, ORDERS), await createOrders(stack, ORDERS)]
      addMixedLoad(source, before)
      const accepted = source.accepted
      void source.run()
      await source.untilAccepted(accepted + ORDERS / 2)
      const [old, others] = [await set.primary(), await set.secondaries()]
      const heldBefore = links.held
      partition(links, [old, others])
      for (const node of others) {
        links.cut(stranded.gateway, node)
        links.cut(node, stranded.gateway)
      }
      await untilGivenUp(set, old, others)
      const successor = await set.elect(others)
      addMixedLoad(source, after)
      await source.run()
      const messages = payments.map((payment) => stranded.provider.write(payment))
      const deliver = async () =>
        (await Promise.all(messages.map((one) => stranded.provider.deliver(one)))).map(({ status }) => status)
      expect(await deliver(), `answers of the stranded gateway, ${name}`).toEqual(messages.map(() => 500))
      expect(await deliver(), `repeated, ${name}`).toEqual(messages.map(() => 500))

      expect([await isPrimary(old), await isPrimary(successor)], `both are primary, ${name}`).toEqual([true, true])
      const stale = { eventId: { $in: payments.map(({ id }) => id) } }
      const storedOn = async ({ port }: MongodUnderTest): Promise<number> => {
        await using client = await directClient(port).connect()
        return await client.db(stack.place.gatewayDb).collection('events').countDocuments(stale)
      }
      expect(await storedOn(old), 'stored on the old one').toBeGreaterThan(0)
      expect(await storedOn(successor), 'stored on the new one').toBe(0)
      struck[name] = links.held - heldBefore

      links.heal()
      for (const payment of payments) source.add(payment)
      await source.run()
      await set.untilWhole()
      expect(await isPrimary(old), 'the old one is primary').toBe(false)
    }

    await outlastReceiptLeases(stack)
    await stack.untilSettled()
    expect(await closingCheck(stack, source.log, { struck, volume: 500 })).toEqual([])
  })
})
