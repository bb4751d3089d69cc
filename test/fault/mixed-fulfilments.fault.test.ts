import { describe, expect, it, type TestContext } from 'vitest'
import { addMixedLoad, createOrders, createOrdersAfterFault, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { provideFirstRelease, type ReleasePrograms } from '../support/releases/provide-release.ts'
import { startSecondFulfilment } from '../support/releases/second-fulfilment.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { type FaultProxy, startFaultProxy } from '../support/stack/fault-proxy.ts'
import { presentScript } from '../support/stack/service-under-test.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { gatewaySettings, gatewaySettingsOfFirstRelease } from '../support/stack/stack-settings.ts'

const PACE = { perSecond: 60, parallel: 60 }
const BACKLOG = 150
const ORDERS = 120
const BROKEN_EVERY_MS = 200
// How the load is shared is chance. So each of the two gets some orders alone at the end, while the other runs.
const ORDERS_ALONE = 20

type Version = '0.1.0' | 'present'

interface Mixed {
  readonly stack: Stack
  readonly firstRelease: ReleasePrograms
  /** Leads each connection of the gateway to the other of the two fulfilments. */
  readonly between: FaultProxy
}

/** Stops the gateway in order, and starts one of this version in its place. */
async function switchGateway({ stack, firstRelease, between }: Mixed, version: Version): Promise<void> {
  expect(await stack.gateway.kill('SIGTERM')).toMatchObject({ code: 0 })
  const own = version === 'present' ? gatewaySettings : gatewaySettingsOfFirstRelease
  const script = version === 'present' ? presentScript('gateway') : firstRelease.gateway
  stack.gateway.become(script, { ...own(stack.place), FULFILMENT_URL: `http://127.0.0.1:${between.port}` })
  await stack.gateway.start()
}

/** Services of 0.1.0 with orders, whose gateway reaches fulfilment through a proxy. */
async function startMixed(context: TestContext, resources: AsyncDisposableStack): Promise<Mixed> {
  const firstRelease = await provideFirstRelease(context)
  const between = resources.use(await startFaultProxy())
  const gateway = { FULFILMENT_URL: `http://127.0.0.1:${between.port}` }
  const stack = resources.use(await startStack({ firstRelease, gateway }))
  between.leadTo(stack.place.fulfilmentPort)
  return { stack, firstRelease, between }
}

/** Breaks a connection at a time, until it is disposed of: calls fail on one fulfilment, and are repeated on the other. */
function keepBreaking(between: FaultProxy) {
  let broken = 0
  const timer = setInterval(() => {
    broken += between.breakSome(1)
  }, BROKEN_EVERY_MS)
  return {
    get broken() {
      return broken
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** How many events a fulfilment has applied since it started. */
async function countApplied(port: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const counts = metrics.matchAll(/^oncehook_events_applied_total\{.*verdict="applied".*\} (\d+)/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

const ORDERS_OF_GATEWAYS = [
  ['0.1.0', 'present'],
  ['present', '0.1.0'],
] as const

describe('fulfilment of release 0.1.0 beside the present one, with a backlog', { timeout: 360_000 }, () => {
  it.for(ORDERS_OF_GATEWAYS)(
    'FP-46: each event has one effect, behind a gateway of %s and then of %s',
    async (versions, context) => {
      await using resources = new AsyncDisposableStack()
      const mixed = await startMixed(context, resources)
      const { stack, between } = mixed
      const source = resources.use(new WebhookSource(stack.provider('acme'), PACE))
      for (const order of await createOrders(stack, BACKLOG)) source.add(paymentOf(order))
      await stack.fulfilment.kill('SIGTERM')
      await source.run()
      await switchGateway(mixed, versions[0])
      // The tokens of a gateway of 0.1.0 are good for any call.
      const other = resources.use(await startSecondFulfilment(stack, { SERVICE_TOKEN_BINDING: 'accepted' }))
      await stack.fulfilment.restart()
      between.leadTo(stack.place.fulfilmentPort, other.port)
      const pair = {
        '0.1.0': [stack.fulfilment, stack.place.fulfilmentPort],
        present: [other.fulfilment, other.port],
      } as const
      const applied = { '0.1.0': 0, present: 0 }
      const count = async (version: Version): Promise<void> => {
        applied[version] += await countApplied(pair[version][1])
      }
      const killAgain = async (version: Version): Promise<void> => {
        await count(version)
        await pair[version][0].kill('SIGKILL')
        await pair[version][0].restart()
      }

      addMixedLoad(source, await createOrdersAfterFault(stack, ORDERS))
      const finished = source.run()
      let broken: number
      {
        using breaking = keepBreaking(between)
        await source.untilLeft(Math.ceil(source.left * 0.8))
        await killAgain('0.1.0')
        await switchGateway(mixed, versions[1])
        await source.untilLeft(Math.ceil(source.left * 0.5))
        await killAgain('present')
        await finished
        broken = breaking.broken
      }
      await outlastReceiptLeases(stack)
      for (const [, port] of Object.values(pair)) {
        between.leadTo(port)
        between.breakSome(100)
        for (const order of await createOrdersAfterFault(stack, ORDERS_ALONE)) source.add(paymentOf(order))
        await source.run()
        await stack.untilSettled()
      }
      await Promise.all([count('0.1.0'), count('present')])
      process.stderr.write(`applied ${JSON.stringify(applied)}, ${broken} connections broken\n`)
      const struck = { 'an event that waited': BACKLOG, 'a broken connection': broken }
      expect(
        await closingCheck(stack, source.log, { struck, volume: BACKLOG + 4 * ORDERS + 2 * ORDERS_ALONE }),
      ).toEqual([])
      expect(await stack.receipts()).toHaveLength(BACKLOG + ORDERS + 2 * ORDERS_ALONE)
      expect(Math.min(applied['0.1.0'], applied.present), JSON.stringify(applied)).toBeGreaterThanOrEqual(ORDERS_ALONE)
    },
  )
})
