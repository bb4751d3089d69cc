import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startSecondGateway } from '../support/stack/second-gateway.ts'
import { type Stack, startStack } from '../support/stack/stack.ts'
import { LIMITED_GATEWAY } from '../support/stack/stack-settings.ts'
import { until, untilEqual } from '../support/until.ts'

// A claim lasts for both.
const SHORT_CLAIMS = { LEASE_MS: '1000', TEST_LIMITS: JSON.stringify({ fulfilmentCallMs: 3_000 }) }
// In addition to the two seconds of the row, because processes that share a machine with others are late.
const BUSY_MS = 3_000

async function databaseNow({ events }: Stack): Promise<number> {
  return (await events.db.command({ hello: 1 })).localTime.getTime()
}

/** How many claims a gateway could not settle because another one had taken them over. */
async function lostClaims({ place }: Stack): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${place.adminPort}/metrics`)).text()
  return Number(/^oncehook_claims_lost_total (\d+)/m.exec(metrics)?.[1])
}

describe('of two gateways on one inbox,', () => {
  it('FP-13: one that is killed with claims in its hands is relieved of them within two seconds of their end', async () => {
    await using stack = await startStack({ gateway: SHORT_CLAIMS, gatewayScript: LIMITED_GATEWAY })
    await using second = await startSecondGateway(stack, SHORT_CLAIMS, LIMITED_GATEWAY)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 400, parallel: 100 })
    addMixedLoad(source, await createOrders(stack, 120))
    // While the other one is frozen, all claims are those of the first.
    second.gateway.pause()
    stack.fulfilment.pause()
    const finished = source.run()
    const isHeld = { state: 'processing', claim: { $exists: true } } as const
    await until(
      () => stack.events.countDocuments(isHeld),
      (count) => count > 100,
    )
    await stack.gateway.kill('SIGKILL')
    const held = await stack.events.find(isHeld).toArray()
    const orphans = { claim: { $in: held.flatMap(({ claim }) => claim ?? []) } }
    second.gateway.resume()
    stack.fulfilment.resume()
    await untilEqual(() => stack.events.countDocuments(orphans), 0)
    const endedAt = Math.max(...held.map(({ dueAt }) => dueAt?.getTime() ?? 0))
    expect((await databaseNow(stack)) - endedAt).toBeLessThan(2_000 + BUSY_MS)
    expect(second.gateway.countOf('event.taken-over')).toBeGreaterThan(0)
    await stack.gateway.restart()
    await finished
    await stack.untilSettled()
    const row = { struck: { 'a claim that outlived its holder': held.length }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })

  it('FP-26: one that was frozen past the end of its claims settles nothing when it resumes, and its events are reclaimed', async () => {
    await using stack = await startStack({ gateway: SHORT_CLAIMS, gatewayScript: LIMITED_GATEWAY })
    await using second = await startSecondGateway(stack, SHORT_CLAIMS, LIMITED_GATEWAY)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 400, parallel: 100 })
    const orders = await createOrders(stack, 60)
    addMixedLoad(source, orders)
    const finished = source.run()
    await source.untilAccepted(80)

    // Its calls wait for a fulfilment that does not answer when it is frozen. It wakes to answers that came too late.
    stack.fulfilment.pause()
    await source.untilAccepted(source.accepted + 10)
    stack.gateway.pause()
    const asleep = await stack.events.find({ state: 'processing' }).toArray()
    stack.fulfilment.resume()
    const ids = asleep.map(({ eventId }) => eventId)
    await untilEqual(() => stack.events.countDocuments({ eventId: { $in: ids }, state: 'done' }), ids.length)
    const settled = await stack.events.find({ eventId: { $in: ids } }).toArray()
    stack.gateway.resume()
    await until(
      () => lostClaims(stack),
      (count) => count > 0,
    )
    await finished
    await stack.untilSettled()
    // When it has stopped, it has written all that it may still write.
    await stack.gateway.kill('SIGTERM')

    expect(second.gateway.countOf('event.taken-over')).toBeGreaterThan(0)
    expect(settled.filter(({ starts }) => starts >= 2).length, 'events that were taken over').toBeGreaterThan(0)
    const strip = ({ state, starts, attempts }: (typeof settled)[number]) => ({ state, starts, attempts })
    const awake = await stack.events.find({ eventId: { $in: ids } }).toArray()
    expect(awake.map(strip)).toEqual(settled.map(strip))
    const row = { struck: { 'a claim of the sleeper': ids.length }, volume: 4 * orders.length }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })
})
