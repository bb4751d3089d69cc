import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { type FaultProxy, startFaultProxy } from '../support/stack/fault-proxy.ts'
import type { ApiOrder } from '../support/stack/records.ts'
import { type Ending, ServiceUnderTest } from '../support/stack/service-under-test.ts'
import { choosePlace, paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { fulfilmentSettings, gatewaySettings } from '../support/stack/stack-settings.ts'
import { until } from '../support/until.ts'

const ORDERS = 120

/** How long a service took to stop, by the times in its log, in milliseconds. */
function stopTookMs({ lines }: ServiceUnderTest): number {
  const at = (message: string) => Date.parse(String(lines.findLast(({ msg }) => msg === message)?.time))
  return at('service.stopped') - at('service.stopping')
}

/** Its stop was in order, and quick by its own log: a busy machine may deliver the signal late, or notice the end late. */
function expectOrderly(service: ServiceUnderTest, { code, signal }: Ending): void {
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  expect(service.lines.filter(({ msg }) => msg === 'service.stage-failed')).toEqual([])
  expect(stopTookMs(service)).toBeLessThan(10_000)
}

it('FP-11: SIGTERM under load ends each service with 0 within 10 s, and no event is lost', async () => {
  await using stack = await startStack()
  const orders = await createOrders(stack, ORDERS)
  await using source = new WebhookSource(stack.provider('acme'), { perSecond: 200, parallel: 100 })
  for (const order of orders) source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${order.id}` }))
  for (const order of orders) source.add(paymentOf(order))
  const finished = source.run()
  for (const [service, accepted] of [
    [stack.gateway, ORDERS / 2],
    [stack.fulfilment, ORDERS],
  ] as const) {
    await source.untilAccepted(accepted)
    expectOrderly(service, await service.kill('SIGTERM'))
    await service.restart()
  }
  await finished
  await stack.untilSettled()
  const row = { struck: { 'an orderly stop': 2 }, volume: 2 * ORDERS, receiptsOnce: true as const }
  expect(await closingCheck(stack, source.log, row)).toEqual([])
})

it('SIGTERM ends both services with 0 also while the database is away', async () => {
  await using set = await startReplicaSet(1)
  await using stack = await startStack({ mongoUri: set.uri })
  const [order = expect.unreachable()] = await createOrders(stack, 1)
  const node = await set.primary()
  await node.kill('SIGKILL')
  expect((await stack.deliver(paymentOf(order))).status).toBe(500)
  const services = [stack.gateway, stack.fulfilment]
  const endings = await Promise.all(services.map((service) => service.kill('SIGTERM')))
  for (const { code, signal } of endings) expect({ code, signal }).toEqual({ code: 0, signal: null })
  for (const service of services) expect(stopTookMs(service)).toBeLessThan(10_000)
  await node.start()
})

it.each([
  ['gateway', 'SIGTERM'],
  ['fulfilment', 'SIGHUP'],
] as const)('the %s that is still starting ends with 0 at %s', async (name, signal) => {
  await using resources = new AsyncDisposableStack()
  const place = { ...(await choosePlace(resources)), mongoUri: 'mongodb://127.0.0.1:1/' }
  const settings = name === 'gateway' ? gatewaySettings(place) : fulfilmentSettings(place)
  await using service = new ServiceUnderTest(name, settings)
  const starting = expect(service.start()).rejects.toThrow(`The ${name} ended with 0 before it was ready`)
  await until(
    () => service.countOf('mongodb.unreachable'),
    (count) => count > 0,
  )
  expect(await service.kill(signal)).toMatchObject({ code: 0, signal: null })
  await starting
  expect(service.countOf('service.started')).toBe(0)
  expect(service.lines.at(-1)).toMatchObject({ msg: 'service.stopped', clean: true })
})

describe('SIGTERM while the database is slow', () => {
  const resources = new AsyncDisposableStack()
  afterAll(() => resources.disposeAsync())
  let [gatewayProxy, fulfilmentProxy, stack]: [FaultProxy, FaultProxy, Stack] = [] as never
  beforeAll(async () => {
    const viaProxy = async () => {
      const proxy = resources.use(await startFaultProxy())
      proxy.leadTo(Number(new URL(process.env.TEST_MONGODB_URI ?? '').port))
      return [proxy, { MONGODB_URI: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` }] as const
    }
    const [[gatewaySide, gateway], [fulfilmentSide, fulfilment]] = [await viaProxy(), await viaProxy()]
    stack = resources.use(await startStack({ gateway, fulfilment }))
    gatewayProxy = gatewaySide
    fulfilmentProxy = fulfilmentSide
  })

  it('answers a delivery that waits for a database which does not answer', async () => {
    const [order = expect.unreachable()] = await createOrders(stack, 1)
    const payment = paymentOf(order)
    const reply = gatewayProxy.holdReply(payment.id)
    const answer = stack.deliver(payment)
    await reply.arrived
    const ending = await stack.gateway.kill('SIGTERM')
    expect(ending).toMatchObject({ code: 0, signal: null })
    expect((await answer).status).toBe(500)
    reply.release()
    await stack.gateway.restart()
  })

  it.each([
    ['reads an order', (order: ApiOrder) => stack.orders.send(`/${order.id}`), 0],
    ['applies a payment', (order: ApiOrder) => stack.deliver(paymentOf(order)), 1],
  ] as const)('ends fulfilment with 0 while it %s, and lets it finish that', async (_call, call, receipts) => {
    const [order = expect.unreachable()] = await createOrders(stack, 1)
    const reply = fulfilmentProxy.holdReply(order.id)
    const answer = call(order)
    await reply.arrived
    const stops = stack.fulfilment.countOf('service.stopping')
    const ending = stack.fulfilment.kill('SIGTERM')
    await until(
      async () => stack.fulfilment.countOf('service.stopping'),
      (count) => count > stops,
    )
    reply.release()
    expectOrderly(stack.fulfilment, await ending)
    expect((await answer).status).toBe(200)
    await stack.fulfilment.restart()
    await stack.untilSettled()
    expect((await stack.receipts()).filter(({ orderId }) => orderId === order.id)).toHaveLength(receipts)
  })

  it('ends the gateway with 0 while claims are held', async () => {
    const orders = await createOrders(stack, 20)
    await stack.fulfilment.kill('SIGKILL')
    {
      await using hanging = await listenInSilence(stack.place.fulfilmentPort)
      for (const order of orders) expect((await stack.deliver(paymentOf(order))).status).toBe(200)
      await until(hanging.calls, (calls) => calls > 0)
      gatewayProxy.delay(1_000)
      expectOrderly(stack.gateway, await stack.gateway.kill('SIGTERM'))
      gatewayProxy.delay(0)
    }
    await Promise.all([stack.fulfilment.restart(), stack.gateway.restart()])
  })
})

/** Accepts every connection, and never sends anything. */
async function listenInSilence(port: number) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    calls: () => Promise.resolve(sockets.size),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
