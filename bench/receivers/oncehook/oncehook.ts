import { type LiveOrder, ORDERS } from '@oncehook/fulfilment/orders/stored/order-document'
import type { Db } from 'mongodb'
import { insertOrders } from '../orders.ts'
import type { Receiver, Setup, StartReceiver } from '../receiver.ts'
import { findStored, waitUntilSettled } from '../stored-events.ts'
import { describeSystem, PROVIDER } from './describe-system.ts'
import { startService } from './service.ts'

/** Starts the gateway alone: fulfilment is unavailable, so everything waits for it. */
export const startAccepting: StartReceiver = (setup, run) => startAcceptingFor(setup, run)

/** Starts the gateway alone, with these handlers (the content of HANDLERS) instead of fulfilment. */
export async function startAcceptingFor(
  setup: Setup,
  run: string,
  handlers?: Readonly<Record<string, object>>,
): Promise<Receiver> {
  const system = await describeSystem(setup, run, handlers)
  const gateway = await startService(system.gateway)
  const db = setup.database(system.gatewayDb)
  return {
    url: system.url,
    receiverPid: gateway.pid,
    async keptOf(eventIds) {
      const found = await findStored(db, { provider: PROVIDER }, eventIds)
      return new Set(found.map(({ eventId }) => eventId))
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await db.dropDatabase()
    },
  }
}

/** Starts the gateway and fulfilment. Each event pays an order that already exists. */
export const startPaying: StartReceiver = async (setup, run) => {
  await using stack = new AsyncDisposableStack()
  const system = await describeSystem(setup, run)
  const [gatewayDb, fulfilmentDb] = [setup.database(system.gatewayDb), setup.database(system.fulfilmentDb)]
  stack.defer(async () => void (await Promise.all([gatewayDb.dropDatabase(), fulfilmentDb.dropDatabase()])))
  const fulfilment = stack.use(await startService(system.fulfilment))
  const gateway = stack.use(await startService(system.gateway))
  const running = stack.move()
  return {
    url: system.url,
    receiverPid: gateway.pid,
    fulfilmentPid: fulfilment.pid,
    prepare: (orderPrefix, count) => insertOrders(fulfilmentDb, orderPrefix, count),
    settled: () => waitUntilSettled(gatewayDb),
    keptOf: (eventIds) => appliedOf(gatewayDb, fulfilmentDb, eventIds),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** Both services in an outage of fulfilment. */
export interface Interrupted extends Receiver {
  /** Where the events wait. */
  readonly gatewayDb: Db
  /** Starts fulfilment. */
  restore(): Promise<void>
}

/** Starts both and stops fulfilment again, as if its outage had just begun. */
export async function startInterrupted(setup: Setup, run: string): Promise<Interrupted> {
  await using stack = new AsyncDisposableStack()
  const system = await describeSystem(setup, run)
  const [gatewayDb, fulfilmentDb] = [setup.database(system.gatewayDb), setup.database(system.fulfilmentDb)]
  stack.defer(async () => void (await Promise.all([gatewayDb.dropDatabase(), fulfilmentDb.dropDatabase()])))
  const before = await startService(system.fulfilment)
  const gateway = stack.use(await startService(system.gateway).finally(() => before[Symbol.asyncDispose]()))
  const running = stack.move()
  let fulfilmentPid: number | undefined
  return {
    url: system.url,
    receiverPid: gateway.pid,
    get fulfilmentPid() {
      return fulfilmentPid
    },
    gatewayDb,
    async restore() {
      fulfilmentPid = running.use(await startService(system.fulfilment)).pid
    },
    prepare: (orderPrefix, count) => insertOrders(fulfilmentDb, orderPrefix, count),
    keptOf: (eventIds) => appliedOf(gatewayDb, fulfilmentDb, eventIds),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

const CHUNK = 10_000

/** The ids whose events are done and whose orders were paid by the payment that the event reports. */
async function appliedOf(gateway: Db, fulfilment: Db, eventIds: readonly string[]): Promise<Set<string>> {
  const done = await findStored(gateway, { provider: PROVIDER, state: 'done' }, eventIds)
  const orders = fulfilment.collection<LiveOrder>(ORDERS)
  const kept = new Set<string>()
  for (let from = 0; from < done.length; from += CHUNK) {
    const events = done.slice(from, from + CHUNK)
    const paid = { _id: { $in: events.map(({ orderId = '' }) => orderId) }, status: 'paid' } as const
    const found = await orders.find(paid, { projection: { 'payment.id': 1 } }).toArray()
    const payments = new Map(found.map(({ _id, payment }) => [_id, payment?.id]))
    for (const { eventId, orderId = '', objectId } of events) if (payments.get(orderId) === objectId) kept.add(eventId)
  }
  return kept
}
