import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const PACE = { perSecond: 200, parallel: 100 }
const ORDERS = 150
const MIN_ACCEPTED = 600

const SENDING = { state: 'sending', sentAt: null, dueAt: '$$NOW' }

/** Changes records as if fulfilment had died after sending some receipts and before storing that. Returns how many. */
async function forgetSent(stack: Stack): Promise<number> {
  const sent = await stack.orderRecords.find({ 'receipts.state': 'sent' }).limit(20).toArray()
  const forgotten = { $map: { input: '$receipts', in: { $mergeObjects: ['$$this', SENDING] } } }
  const ids = sent.map(({ _id }) => _id)
  return (await stack.orderRecords.updateMany({ _id: { $in: ids } }, [{ $set: { receipts: forgotten } }])).modifiedCount
}

describe('under 200 deliveries a second', () => {
  it('every event answered 200 has exactly one effect, whichever process is killed', async () => {
    await using stack = await startStack()
    const { gateway, fulfilment } = stack
    await using source = new WebhookSource(stack.provider('acme'), PACE)
    addMixedLoad(source, await createOrders(stack, ORDERS))
    const finished = source.run()

    await source.untilAccepted(100)
    const kills = [await gateway.kill('SIGKILL')]
    await gateway.restart()

    await source.untilAccepted(180)
    kills.push(await fulfilment.kill('SIGKILL'))
    await outlastReceiptLeases(stack)
    await source.untilAccepted(240)
    await fulfilment.restart()

    // Now kill the gateway while its calls wait for a fulfilment that does not answer: its claims die with it.
    await source.untilAccepted(320)
    fulfilment.pause()
    await source.untilAccepted(360)
    const inHand = () => stack.events.countDocuments({ state: 'processing' })
    await until(inHand, (count) => count > 0)
    kills.push(await gateway.kill('SIGKILL'))
    const orphaned = await inHand()
    fulfilment.resume()
    await gateway.restart()

    await source.untilAccepted(460)
    const sent = () => stack.orderRecords.countDocuments({ 'receipts.state': 'sent' })
    await until(sent, (count) => count > 20)
    kills.push(await fulfilment.kill('SIGKILL'), await gateway.kill('SIGKILL'))
    await outlastReceiptLeases(stack)
    const forgotten = await forgetSent(stack)
    await Promise.all([fulfilment.restart(), gateway.restart()])

    await finished
    await stack.untilSettled()
    const row = { struck: { 'a kill': kills.length }, volume: MIN_ACCEPTED }
    expect(await closingCheck(stack, source.log, row)).toEqual([])

    expect(kills.map(({ signal }) => signal)).toEqual(Array(5).fill('SIGKILL'))
    const unanswered = source.log.filter(({ answers }) => answers.includes(null))
    expect(unanswered.length, 'deliveries that the kills hit').toBeGreaterThan(0)
    expect(forgotten, 'receipts that were sent and not written down').toBeGreaterThan(0)
    const deferred = await stack.events.countDocuments({ 'attempts.code': 'unavailable' })
    expect(deferred, 'events that found fulfilment away').toBeGreaterThan(0)
    expect(orphaned, 'claims that outlived their holder').toBeGreaterThan(0)
    expect(gateway.countOf('event.taken-over')).toBeGreaterThan(0)
    expect(await stack.orderRecords.countDocuments({ status: 'paid' })).toBe(ORDERS)
  })
})
