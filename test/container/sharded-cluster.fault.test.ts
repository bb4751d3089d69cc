import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MaxKey, MinKey, MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { mongosImage } from '../support/containers/container-images.ts'
import { addMixedLoad, createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startSecondGateway } from '../support/stack/second-gateway.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { until, untilEqual } from '../support/until.ts'
import { startShardedCluster } from './sharded-cluster.ts'

const run = promisify(execFile)
const CLI = join(import.meta.dirname, '../../packages/cli/src/main.ts')
const LEASE_MS = 2_000
const HALF_OF_SLOTS = 2_048
const COPIES = 20
const CONTENT = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 's', quantity: 1, unitAmount: 100 }] }

describe('a sharded cluster behind a mongos', { timeout: 400_000 }, () => {
  it('keeps every promise: one record, no answer without a majority, one effect, and takeover', async (context) => {
    await using cluster = await startShardedCluster(await mongosImage(context))
    const settings = { LEASE_MS: String(LEASE_MS) }
    await using stack = await startStack({ mongoUri: cluster.uri, gateway: settings })
    await using second = await startSecondGateway(stack, settings)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 100, parallel: 50 })
    const gateways = [stack.provider('acme'), second.provider]
    const [first, last, ...others] = await createOrders(stack, 62)
    if (first === undefined || last === undefined) throw new Error('There is no order')

    /** Delivers the last added event to both gateways in turn. */
    const deliverToBoth = async (copies: number): Promise<(number | null | undefined)[]> => {
      const { message, answers } = source.log.at(-1) ?? expect.unreachable()
      const deliveries = Array.from({ length: copies }, (_, index) => gateways[index % 2]?.deliver(message))
      const statuses = (await Promise.all(deliveries)).map((answer) => answer?.status)
      answers.push(...statuses.map((status) => status ?? null))
      return statuses
    }

    // It is accepted once, applied and settled.
    source.add(paymentOf(first))
    expect(await deliverToBoth(COPIES)).toEqual(Array(COPIES).fill(200))
    await source.run()
    await stack.untilSettled()
    const paid = await stack.orderRecords.findOne({ _id: first.id })
    expect(paid).toMatchObject({ status: 'paid', version: 2 })
    await untilEqual(() => stack.events.countDocuments({ deliveries: COPIES + 1 }), 1)

    // Without a majority nothing new is acknowledged, neither at its first delivery nor at its second.
    const orderId = `ord_${randomUUID()}`
    const put = async (): Promise<number> => {
      const headers = { 'content-type': 'application/json', 'if-none-match': '*' }
      return (await stack.orders.send(`/${orderId}`, { method: 'PUT', headers, body: JSON.stringify(CONTENT) })).status
    }
    await using resources = new AsyncDisposableStack()
    const stopped = resources.use(await cluster.stopReplication())
    expect(await deliverToBoth(2), 'what a majority holds').toEqual([200, 200])
    source.add(paymentOf(last))
    const refused: unknown[] = []
    for (let tries = 0; tries < 3; tries += 1) refused.push(...(await deliverToBoth(2)), await put())
    expect(refused).toEqual([500, 500, 503, 500, 500, 503, 500, 500, 503])
    await stopped[Symbol.asyncDispose]()
    await source.run()
    await until(put, (status) => status === 412)
    await stack.untilSettled()
    expect(await stack.events.countDocuments({ orderId: last.id })).toBe(1)

    // The events of a dead gateway are taken over.
    addMixedLoad(source, others)
    stack.fulfilment.pause()
    await source.run()
    const held = await stack.events.countDocuments({ state: 'processing', starts: 1 })
    await stack.gateway.kill('SIGKILL')
    await until(
      () => second.gateway.countOf('event.taken-over'),
      (count) => count > 0,
    )
    stack.fulfilment.resume()
    await stack.gateway.restart()
    await stack.untilSettled()
    const struck = { 'an answer without a majority': refused.length, 'a claim that outlived its holder': held }
    expect(
      await closingCheck(stack, source.log, { struck, volume: COPIES + 5 * others.length, leaseMs: LEASE_MS }),
    ).toEqual([])
  })

  it('spreads the events over two shards while the services run, and loses nothing', async (context) => {
    await using cluster = await startShardedCluster(await mongosImage(context))
    await using stack = await startStack({ mongoUri: cluster.uri, fulfilment: { PAYMENT_GUARD: 'reservation' } })
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 50, parallel: 20 })
    const orders = await createOrders(stack, 60)
    addMixedLoad(source, orders.slice(0, 30))
    await source.run()
    const shard = await cluster.addSecondShard()
    addMixedLoad(source, orders.slice(30))
    const [{ stdout }] = await Promise.all([applySharding(stack), source.run()])
    expect(stdout).toContain('split-events')
    await moveHalf(stack, shard)
    const late = await createOrders(stack, 30)
    addMixedLoad(source, late)
    await source.run()
    await stack.untilSettled()
    expect(await recordsPerShard(stack)).toEqual([expect.any(Number), expect.any(Number)])
    expect(Math.min(...(await recordsPerShard(stack)))).toBeGreaterThan(0)
    expect(await closingCheck(stack, source.log, { struck: { 'a sharding': 1 }, volume: 4 * orders.length })).toEqual(
      [],
    )
  })
})

/** Runs `oncehook shard --apply` as an administrator does. Rejects if a step is blocked. */
function applySharding({ place }: Stack): Promise<{ stdout: string }> {
  const databases = { GATEWAY_DB: place.gatewayDb, FULFILMENT_DB: place.fulfilmentDb }
  const env = { ...process.env, MONGODB_URI: place.mongoUri, ...databases }
  return run(process.execPath, [CLI, 'shard', '--apply'], { env })
}

/** Moves the upper half of the slots. The balancer would wait until there are many more events. */
async function moveHalf({ place }: Stack, toShard: string): Promise<void> {
  await using client = await new MongoClient(place.mongoUri).connect()
  const bound = (slot: unknown, rest: unknown) => ({ slot, provider: rest, eventId: rest })
  await client.db('admin').command({
    moveRange: `${place.gatewayDb}.events`,
    min: bound(HALF_OF_SLOTS, new MinKey()),
    max: bound(new MaxKey(), new MaxKey()),
    toShard,
  })
}

async function recordsPerShard({ events }: Stack): Promise<number[]> {
  const shards = await events.aggregate<{ readonly count: number }>([{ $collStats: { count: {} } }]).toArray()
  return shards.map(({ count }) => count)
}
