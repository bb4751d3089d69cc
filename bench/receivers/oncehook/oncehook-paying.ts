import type { Db } from 'mongodb'
import type { Receiver, Setup } from '../receiver.ts'
import { describeSystem } from './describe-system.ts'
import { insertOrders } from './insert-orders.ts'
import { appliedOf } from './kept-by-oncehook.ts'
import { type Service, startService } from './service.ts'
import { waitUntilSettled } from './wait-until-settled.ts'

/** Both services. */
export interface Paying extends Receiver {
  /** Where the events are. */
  readonly gatewayDb: Db
}

/** Starts the gateway and fulfilment. Each event pays an order that already exists. */
export async function startPaying(setup: Setup, run: string): Promise<Paying> {
  const system = await describeSystem(setup, run)
  const fulfilment = await startService(system.fulfilment)
  const gateway = await startService(system.gateway).catch((error) => stopAndThrow(fulfilment, error))
  const stores = {
    gateway: setup.database(system.gatewayDb),
    fulfilment: setup.database(system.fulfilmentDb),
  }
  return {
    url: system.url,
    receiverPid: gateway.pid,
    fulfilmentPid: fulfilment.pid,
    gatewayDb: stores.gateway,
    prepare: (orderPrefix, count) => insertOrders(stores.fulfilment, orderPrefix, count),
    settled: () => waitUntilSettled(stores.gateway),
    keptOf: (eventIds) => appliedOf(stores, eventIds),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await fulfilment[Symbol.asyncDispose]()
      await Promise.all([stores.gateway.dropDatabase(), stores.fulfilment.dropDatabase()])
    },
  }
}

async function stopAndThrow(service: Service, error: unknown): Promise<never> {
  await service[Symbol.asyncDispose]()
  throw error
}
