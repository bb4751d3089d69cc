import { setTimeout as sleep } from 'node:timers/promises'
import type { Document } from 'mongodb'
import { describe, expect, it, type TestContext } from 'vitest'
import { addMixedLoad, createOrders } from '../support/load/mixed-load.ts'
import { shareOut } from '../support/load/share-out.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { provideFirstRelease } from '../support/releases/provide-release.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { type SecondGateway, startSecondGateway } from '../support/stack/second-gateway.ts'
import { presentScript, type ServiceUnderTest } from '../support/stack/service-under-test.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { fulfilmentSettings, gatewaySettings, STACK_LEASE_MS } from '../support/stack/stack-settings.ts'
import { until } from '../support/until.ts'

const PACE = { perSecond: 60, parallel: 60 }
const BACKLOG = 150
const ORDERS = 200
const PAUSED_MS = 1_000
const MIN_HELD = 10
// In addition to the two seconds that are promised, because processes that share a machine with others are late.
const BUSY_MS = 3_000

/** An upgrade that has begun: 0.1.0 runs, a backlog waits, and fulfilment does not run. */
interface Upgrade {
  readonly stack: Stack
  /** The provider to which the backlog was delivered. */
  readonly source: WebhookSource
}

async function beginUpgrade(context: TestContext, resources: AsyncDisposableStack): Promise<Upgrade> {
  const firstRelease = await provideFirstRelease(context)
  const stack = resources.use(await startStack({ firstRelease }))
  const source = resources.use(new WebhookSource(stack.provider('acme'), PACE))
  for (const order of await createOrders(stack, BACKLOG)) source.add(paymentOf(order))
  await stack.fulfilment.kill('SIGTERM')
  await source.run()
  return { stack, source }
}

/** The owners of the present version say how long they live. */
async function heldBy({ events }: Stack, version: 'present' | '0.1.0'): Promise<Document> {
  const owners = await events.db.collection<{ readonly _id: string }>('owners').distinct('_id')
  return { state: 'processing', leaseOwner: version === 'present' ? { $in: owners } : { $nin: owners } }
}

/**
 * Pauses fulfilment, and leaves it so once a gateway holds enough. One that has not yet noticed that fulfilment is back
 * holds one event at a time.
 */
async function pauseWhileHeld({ fulfilment, events }: Stack, held: Document): Promise<void> {
  for (;;) {
    fulfilment.pause()
    const since = performance.now()
    while (performance.now() - since < PAUSED_MS) if ((await events.countDocuments(held)) >= MIN_HELD) return
    fulfilment.resume()
    await sleep(PAUSED_MS)
  }
}

/**
 * Kills a gateway while fulfilment leaves its calls open, and resumes fulfilment. Resolves to the ids of the events that
 * it held, once others have taken over all of them, in time.
 */
async function killHolding(stack: Stack, version: 'present' | '0.1.0', victim: ServiceUnderTest): Promise<string[]> {
  const held = await heldBy(stack, version)
  await pauseWhileHeld(stack, held)
  await victim.kill('SIGKILL')
  const killedAt = performance.now()
  const orphans = await stack.events.find(held).toArray()
  stack.fulfilment.resume()
  await until(
    () => stack.events.countDocuments(held),
    (count) => count === 0,
  )
  expect(performance.now() - killedAt).toBeLessThan(STACK_LEASE_MS + 2_000 + BUSY_MS)
  return orphans.map(({ eventId }) => eventId)
}

/** Stops a service of the stack in order and starts the present version in its place. */
async function upgrade(stack: Stack, name: 'gateway' | 'fulfilment'): Promise<void> {
  if (stack[name].isRunning) expect(await stack[name].kill('SIGTERM')).toMatchObject({ code: 0 })
  const settings = {
    gateway: gatewaySettings(stack.place),
    // The tokens of a gateway of 0.1.0 are good for any call.
    fulfilment: { ...fulfilmentSettings(stack.place), SERVICE_TOKEN_BINDING: 'accepted' },
  }
  stack[name].become(presentScript(name), settings[name])
  await stack[name].start()
}

/** Delivers events to both gateways. Resolves when some have been accepted; `finished` resolves when all have. */
async function loadBoth(resources: AsyncDisposableStack, stack: Stack, second: SecondGateway) {
  const orders = await createOrders(stack, ORDERS)
  const during = resources.use(new WebhookSource(shareOut([stack.provider('acme'), second.provider]), PACE))
  addMixedLoad(during, orders)
  const finished = during.run()
  await during.untilAccepted(40)
  return { during, finished }
}

interface Ended extends Upgrade {
  /** What was delivered during the upgrade. */
  readonly during: WebhookSource
  readonly orphans: readonly string[]
}

async function checkUpgrade({ stack, source, during, orphans }: Ended): Promise<void> {
  await stack.untilSettled()
  const struck = { 'an event that waited': BACKLOG, 'a claim that outlived its holder': orphans.length }
  const row = { struck, volume: BACKLOG + 4 * ORDERS }
  expect(await closingCheck(stack, [...source.log, ...during.log], row)).toEqual([])
  expect(await stack.events.countDocuments({ eventId: { $in: orphans }, starts: { $gte: 2 } })).toBe(orphans.length)
  expect(await stack.receipts()).toHaveLength(BACKLOG + ORDERS)
}

describe('an upgrade from release 0.1.0, with a backlog and under load', { timeout: 360_000 }, () => {
  it('FP-41: of the gateways first loses nothing, also as an old gateway dies', async (context) => {
    await using resources = new AsyncDisposableStack()
    const { stack, source } = await beginUpgrade(context, resources)
    await using second = await startSecondGateway(stack)
    await stack.fulfilment.restart()
    const { during, finished } = await loadBoth(resources, stack, second)
    const orphans = await killHolding(stack, '0.1.0', stack.gateway)
    await until(
      () => second.gateway.countOf('event.taken-over'),
      (count) => count > 0,
    )
    await upgrade(stack, 'gateway')
    await upgrade(stack, 'fulfilment')
    await finished
    await checkUpgrade({ stack, source, during, orphans })
  })

  it('FP-41: of fulfilment first loses nothing, also as a new gateway dies and an old one starts again', async (context) => {
    await using resources = new AsyncDisposableStack()
    const { stack, source } = await beginUpgrade(context, resources)
    await upgrade(stack, 'fulfilment')
    await using second = await startSecondGateway(stack)
    const { during, finished } = await loadBoth(resources, stack, second)
    const orphans = await killHolding(stack, 'present', second.gateway)
    await until(
      () => stack.gateway.countOf('event.taken-over'),
      (count) => count > 0,
    )
    await stack.gateway.kill('SIGTERM')
    await stack.gateway.restart()
    await second.gateway.restart()
    await upgrade(stack, 'gateway')
    await finished
    await checkUpgrade({ stack, source, during, orphans })
  })
})
