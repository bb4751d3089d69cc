import { randomUUID } from 'node:crypto'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import type { TRPCClient } from '@trpc/client'
import type { Collection } from 'mongodb'
import type { Order } from '../orders/order.ts'
import { ORDERS, type OrderDocument } from '../orders/stored/order-document.ts'
import type { FulfilmentRouter } from '../router.ts'
import { fulfilmentClient } from './fulfilment-client.ts'
import { sampleEvent, sampleOrder } from './samples.ts'
import { type RunningFulfilment, startFulfilment } from './start-fulfilment.ts'

/** A fulfilment service on its own database, and its orders. */
export interface OpenOrders extends AsyncDisposable, Pick<TRPCClient<FulfilmentRouter>, 'orders' | 'payments'> {
  readonly database: TestDatabase
  readonly fulfilment: RunningFulfilment
  readonly stored: Collection<OrderDocument>
  /** Creates or replaces an order. Default: the sample order. */
  readonly put: (id: string, order?: unknown) => Promise<Order>
  readonly pay: (id: string) => Promise<void>
}

export async function openOrders(env: NodeJS.ProcessEnv): Promise<OpenOrders> {
  await using starting = new AsyncDisposableStack()
  const database = starting.use(await testDatabase(env))
  const fulfilment = starting.use(await startFulfilment({ uri: database.uri, database: database.name }))
  const { orders, payments } = fulfilmentClient(fulfilment)
  const stack = starting.move()
  return {
    database,
    fulfilment,
    orders,
    payments,
    stored: fulfilment.db.collection<OrderDocument>(ORDERS),
    put: async (id, order = sampleOrder()) => (await orders.put.mutate({ id, order })).order,
    async pay(id) {
      const { results } = await payments.applyEvents.mutate({ events: [sampleEvent({ orderId: id, ifMatch: '*' })] })
      const [result] = results
      if (result === undefined || !('outcome' in result) || result.outcome !== 'applied')
        throw new Error('The payment was not applied')
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export function newOrderId(): string {
  return `o_${randomUUID()}`
}
