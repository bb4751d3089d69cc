import { describe, expect, it } from 'vitest'
import { findOwner } from '../support/load/find-owner.ts'
import { addMixedLoad, createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startSeveralGateways } from '../support/stack/several-gateways.ts'
import { type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const GATEWAYS = 8
// Long enough that the others ask rarely who has died, when nobody has for a while.
const LEASE_MS = 12_000
const PROMISED_AFTER_LEASE_MS = 2_000
const PACE = { perSecond: 60, parallel: 60 }
const ORDERS = 150
const MIN_HELD = 10

/** The time of the database. */
async function now({ events }: Stack): Promise<number> {
  return (await events.db.command({ hello: 1 })).localTime.getTime()
}

describe(`${GATEWAYS} gateways on one inbox of three nodes, under load`, { timeout: 480_000 }, () => {
  it('FP-13: what one of them held when it was killed is taken over within a lease and two seconds', async () => {
    const settings = { LEASE_MS: String(LEASE_MS) }
    await using stack = await startStack({ gateway: settings })
    await using several = await startSeveralGateways(stack, GATEWAYS, settings)
    await using source = new WebhookSource(several.provider, PACE)
    await using probe = new WebhookSource(stack.provider('acme'), PACE)
    const [first, ...orders] = await createOrders(stack, ORDERS)
    const owner = await findOwner(stack, probe, first ?? expect.unreachable())
    const held = { state: 'processing', leaseOwner: owner } as const
    addMixedLoad(source, orders)
    const finished = source.run()
    await source.untilAccepted(GATEWAYS * 5)

    stack.fulfilment.pause()
    await until(
      () => stack.events.countDocuments(held),
      (count) => count >= MIN_HELD,
    )
    await stack.gateway.kill('SIGKILL')
    const killedAt = await now(stack)
    stack.fulfilment.resume()
    const orphans = await stack.events.find(held).toArray()
    const acceptedAtDeath = source.accepted
    await until(
      () => stack.events.countDocuments(held),
      (count) => count === 0,
      LEASE_MS + 30_000,
    )
    const takenAfterMs = (await now(stack)) - killedAt
    process.stderr.write(`${orphans.length} events of the dead were taken over after ${takenAfterMs} ms\n`)
    expect(takenAfterMs).toBeLessThanOrEqual(LEASE_MS + PROMISED_AFTER_LEASE_MS)
    expect(source.accepted - acceptedAtDeath, 'deliveries that the others accepted meanwhile').toBeGreaterThan(100)

    await finished
    await stack.untilSettled()
    const ids = orphans.map(({ eventId }) => eventId)
    expect(await stack.events.countDocuments({ eventId: { $in: ids }, starts: { $gte: 2 } })).toBe(ids.length)
    const takers = several.gateways.filter((gateway) => gateway.countOf('event.taken-over') > 0)
    expect(takers.length, 'gateways that took over').toBeGreaterThan(0)
    const answers = new Set(source.log.filter(({ tampered }) => tampered === undefined).flatMap((sent) => sent.answers))
    expect([...answers].sort(), 'answers, and none by the dead').toEqual([200, null])
    const row = { struck: { 'a claim that outlived its holder': orphans.length }, volume: 400, leaseMs: LEASE_MS }
    expect(await closingCheck(stack, [...probe.log, ...source.log], row)).toEqual([])
  })
})
