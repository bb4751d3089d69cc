import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { postOf } from '../support/load/orders-writes.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { directClient } from '../support/mongod/direct-client.ts'
import { startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { until, untilEqual } from '../support/until.ts'

const ORDERS = 130
const CUSTOMER = 'rolled-back'
const LEASE_MS = 5_000

/** The state of the three writes on the node on a port, whatever the others have. */
async function readOn(port: number, stack: Stack, ids: { readonly settled: string; readonly fresh: string }) {
  await using client = await directClient(port).connect()
  const events = client.db(stack.place.gatewayDb).collection('events')
  const orders = client.db(stack.place.fulfilmentDb).collection('orders')
  return {
    webhook: await events.countDocuments({ eventId: ids.fresh }),
    order: await orders.countDocuments({ customerId: CUSTOMER }),
    settled: (await events.findOne({ eventId: ids.settled }))?.state as unknown,
  }
}

describe('writes that only the old primary had', () => {
  it('FP-32: are rolled back, and none of them was acknowledged; the rest is repeated to one effect', async () => {
    await using set = await startReplicaSet(3, { electionsByHand: true })
    await using between = await startFaultProxy()
    const gateway = { FULFILMENT_URL: `http://127.0.0.1:${between.port}`, LEASE_MS: String(LEASE_MS) }
    await using stack = await startStack({ mongoUri: set.uri, gateway })
    between.leadTo(stack.place.fulfilmentPort)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 300, parallel: 100 })
    const [settling, waiting, ...orders] = await createOrders(stack, ORDERS + 2)
    if (settling === undefined || waiting === undefined) return expect.unreachable()
    addMixedLoad(source, orders)
    await source.run()
    await stack.untilSettled()

    // Fulfilment's write is on a majority. The gateway's write that the event is done will not be.
    const [settled, fresh] = [paymentOf(settling), paymentOf(waiting)]
    const ids = { settled: settled.id, fresh: fresh.id }
    const reply = between.holdReply('payments.applyEvents')
    source.add(settled)
    await source.run()
    await reply.arrived
    await untilEqual(async () => (await stack.orders.read(settling.id)).status, 'paid')
    const [old, others] = [await set.primary(), await set.secondaries()]
    for (const node of others) await node.kill('SIGKILL')
    reply.release()
    const post = postOf(stack.orders, CUSTOMER)
    const acme = stack.provider('acme')
    const answers = await Promise.all([acme.deliver(acme.write(fresh)), post()])
    expect([answers[0].status, answers[1]], 'answers without a majority').toEqual([500, 503])
    await untilEqual(() => readOn(old.port, stack, ids), { webhook: 1, order: 1, settled: 'done' })

    // The gateway's knowledge of the result dies with it.
    await Promise.all([old.kill('SIGKILL'), stack.gateway.kill('SIGKILL')])
    for (const node of others) await node.start()
    const successor = await set.elect(others)
    expect(await readOn(successor.port, stack, ids)).toEqual({ webhook: 0, order: 0, settled: 'processing' })
    await stack.gateway.restart()
    await old.start()
    // The node closes its connections while it rolls back.
    const onOld = await until(
      () => readOn(old.port, stack, ids).catch(() => null),
      (found) => found?.webhook === 0,
    )
    expect(onOld).toMatchObject({ order: 0 })
    const rolledBack = await readdir(join(old.dbPath, 'rollback'))
    expect(rolledBack, 'collections of which documents were rolled back').not.toEqual([])
    await set.untilWhole()

    source.add(fresh)
    await source.run()
    expect(await until(post, (status) => status < 300)).toBe(201)
    await outlastReceiptLeases(stack)
    await stack.untilSettled()
    const again = await stack.events.findOne({ eventId: settled.id })
    expect(again).toMatchObject({ state: 'done' })
    expect(again?.attempts.at(-1)).toMatchObject({ outcome: 'duplicate' })
    const row = { struck: { 'a rollback': rolledBack.length }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })
})
