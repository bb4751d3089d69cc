import { describe, expect, it } from 'vitest'
import { closingCheck } from '../support/closing-check.ts'
import { addMixedLoad, createOrders, outlastReceiptLeases } from '../support/mixed-load.ts'
import { startStack } from '../support/stack.ts'
import { WebhookSource } from '../support/webhook-source.ts'

const PACE = { perSecond: 200, parallel: 100 }
const ORDERS = 250
const MIN_ACCEPTED = 1_000

describe('under 200 deliveries a second', () => {
  it('gives every event answered 200 exactly one effect, whatever is killed', { timeout: 180_000 }, async () => {
    await using stack = await startStack()
    const { gateway, fulfilment } = stack
    await using source = new WebhookSource(stack.provider('acme'), PACE)
    addMixedLoad(source, await createOrders(stack, ORDERS))
    const finished = source.run()

    await source.untilAccepted(150)
    const kills = [await gateway.kill('SIGKILL')]
    await gateway.restart()

    await source.untilAccepted(350)
    kills.push(await fulfilment.kill('SIGKILL'))
    await outlastReceiptLeases(stack)
    await source.untilAccepted(450)
    await fulfilment.restart()

    // Now the gateway while its events are at a fulfilment that does not answer: their claims die with it.
    await source.untilAccepted(600)
    fulfilment.pause()
    await source.untilAccepted(650)
    kills.push(await gateway.kill('SIGKILL'))
    fulfilment.resume()
    await gateway.restart()

    await source.untilAccepted(800)
    kills.push(await fulfilment.kill('SIGKILL'), await gateway.kill('SIGKILL'))
    await outlastReceiptLeases(stack)
    await Promise.all([fulfilment.restart(), gateway.restart()])

    await finished
    await stack.untilSettled()
    expect(await closingCheck(stack, source.log)).toEqual([])

    expect(kills.map(({ signal }) => signal)).toEqual(Array(5).fill('SIGKILL'))
    expect(source.accepted).toBeGreaterThanOrEqual(MIN_ACCEPTED)
    const unanswered = source.log.filter(({ answers }) => answers.includes(null))
    expect(unanswered.length, 'deliveries that the kills hit').toBeGreaterThan(0)
    const deferred = await stack.events.countDocuments({ 'attempts.code': 'unavailable' })
    expect(deferred, 'events that found fulfilment away').toBeGreaterThan(0)
    expect(gateway.countOf('event.taken-over'), 'claims that outlived their holder').toBeGreaterThan(0)
    expect(await stack.receipts()).toHaveLength(ORDERS)
  })
})
