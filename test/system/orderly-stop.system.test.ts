import { createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { ServiceUnderTest } from '../support/stack/service-under-test.ts'
import { choosePlace, paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { fulfilmentSettings, gatewaySettings } from '../support/stack/stack-settings.ts'
import { until } from '../support/until.ts'

const ORDERS = 250

/** Sends load, stops one service in the middle of it, starts it again and lets the source finish. */
async function stopUnderLoad(stack: Stack, service: ServiceUnderTest) {
  const orders = await createOrders(stack, ORDERS)
  await using source = new WebhookSource(stack.provider('acme'), { perSecond: 200, parallel: 100 })
  for (const order of orders) source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${order.id}` }))
  for (const order of orders) source.add(paymentOf(order))
  const finished = source.run()
  await source.untilAccepted(ORDERS / 2)
  const ending = await service.kill('SIGTERM')
  await service.restart()
  await finished
  await stack.untilSettled()
  return { ending, log: source.log }
}

/** How long a service took to stop, by the times in its log, in milliseconds. */
function stopTookMs({ lines }: ServiceUnderTest): number {
  const at = (message: string) => Date.parse(String(lines.findLast(({ msg }) => msg === message)?.time))
  return at('service.stopped') - at('service.stopping')
}

describe('FP-11: SIGTERM under load', () => {
  it.each(['gateway', 'fulfilment'] as const)('ends the %s with 0 within 10 s, and no event is lost', async (name) => {
    await using stack = await startStack()
    const { ending, log } = await stopUnderLoad(stack, stack[name])
    expect(ending).toMatchObject({ code: 0, signal: null })
    expect(stack[name].lines.filter(({ msg }) => msg === 'service.stage-failed')).toEqual([])
    // Use its own log, because a busy machine may deliver the signal late, or notice the end late.
    expect(stopTookMs(stack[name])).toBeLessThan(10_000)
    const row = { struck: { 'an orderly stop': Number(ending.code === 0) }, volume: 2 * ORDERS }
    expect(await closingCheck(stack, log, row)).toEqual([])
    expect(await stack.receipts()).toHaveLength(ORDERS)
  })
})

it.each(['gateway', 'fulfilment'] as const)(
  'SIGTERM ends the %s with 0 also while the database is away',
  async (name) => {
    await using set = await startReplicaSet(1)
    await using stack = await startStack({ mongoUri: set.uri })
    const [order = expect.unreachable()] = await createOrders(stack, 1)
    const node = await set.primary()
    await node.kill('SIGKILL')
    expect((await stack.deliver(paymentOf(order))).status).toBe(500)
    const ending = await stack[name].kill('SIGTERM')
    expect(ending).toMatchObject({ code: 0, signal: null })
    expect(ending.ms).toBeLessThan(10_000)
    await node.start()
  },
)

it.each([
  ['gateway', 'SIGTERM'],
  ['gateway', 'SIGHUP'],
  ['fulfilment', 'SIGTERM'],
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

it('SIGTERM answers a delivery that waits for a database which does not answer', async () => {
  await using proxy = await startFaultProxy()
  proxy.leadTo(Number(new URL(process.env.TEST_MONGODB_URI ?? '').port))
  const MONGODB_URI = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`
  await using stack = await startStack({ gateway: { MONGODB_URI } })
  const [order = expect.unreachable()] = await createOrders(stack, 1)
  const payment = paymentOf(order)
  const reply = proxy.holdReply(payment.id)
  const answer = stack.deliver(payment)
  await reply.arrived
  const ending = await stack.gateway.kill('SIGTERM')
  expect(ending).toMatchObject({ code: 0, signal: null })
  expect((await answer).status).toBe(500)
  reply.release()
  await stack.gateway.restart()
})

it('SIGTERM ends fulfilment with 0 while its database is slow and calls are in progress', async () => {
  await using proxy = await startFaultProxy()
  proxy.leadTo(Number(new URL(process.env.TEST_MONGODB_URI ?? '').port))
  const MONGODB_URI = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`
  await using stack = await startStack({ fulfilment: { MONGODB_URI } })
  const orders = await createOrders(stack, 20)
  proxy.delay(1_000)
  const read = Promise.all(orders.map(({ id }) => stack.orders.send(`/${id}`)))
  for (const order of orders) expect((await stack.deliver(paymentOf(order))).status).toBe(200)
  const ending = await stack.fulfilment.kill('SIGTERM')
  expect(stack.fulfilment.countOf('service.stage-failed')).toBe(0)
  expect(ending).toMatchObject({ code: 0, signal: null })
  expect(ending.ms).toBeLessThan(10_000)
  for (const { status } of await read) expect([200, 503]).toContain(status)
  proxy.delay(0)
  await stack.fulfilment.restart()
  await stack.untilSettled()
  expect(await stack.receipts()).toHaveLength(orders.length)
})

it.each([1_000, 3_000])(
  'SIGTERM ends the gateway with 0 while the database takes %i ms longer and claims are held',
  async (delayMs) => {
    await using proxy = await startFaultProxy()
    proxy.leadTo(Number(new URL(process.env.TEST_MONGODB_URI ?? '').port))
    const MONGODB_URI = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`
    await using stack = await startStack({ gateway: { MONGODB_URI } })
    const orders = await createOrders(stack, 20)
    const ended = stack.fulfilment.kill('SIGKILL')
    await ended
    await using hanging = await listenInSilence(stack.place.fulfilmentPort)
    for (const order of orders) expect((await stack.deliver(paymentOf(order))).status).toBe(200)
    await until(hanging.calls, (calls) => calls > 0)
    proxy.delay(delayMs)
    const ending = await stack.gateway.kill('SIGTERM')
    expect(stack.gateway.countOf('service.stage-failed')).toBe(0)
    expect(ending).toMatchObject({ code: 0, signal: null })
    expect(ending.ms).toBeLessThan(10_000)
  },
)

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
