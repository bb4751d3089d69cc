import type { Db } from 'mongodb'
import type { Receiver, Setup } from '../receiver.ts'
import { describeSystem } from './describe-system.ts'
import { insertOrders } from './insert-orders.ts'
import { appliedOf } from './kept-by-oncehook.ts'
import { type Service, startService } from './service.ts'

/** Both services, after fulfilment has stopped: the gateway continues to accept deliveries. */
export interface Interrupted extends Receiver {
  /** Where the events wait. */
  readonly gatewayDb: Db
  /** Starts fulfilment again. */
  restore(): Promise<void>
}

/** Starts both services and then stops fulfilment, as if an outage of fulfilment had just begun. */
export async function startInterrupted(setup: Setup, run: string): Promise<Interrupted> {
  const system = await describeSystem(setup, run)
  await using stack = new AsyncDisposableStack()
  const stores = {
    gateway: setup.database(system.gatewayDb),
    fulfilment: setup.database(system.fulfilmentDb),
  }
  stack.defer(async () => void (await Promise.all([stores.gateway.dropDatabase(), stores.fulfilment.dropDatabase()])))
  const before = await startService(system.fulfilment)
  const gateway = stack.use(await startService(system.gateway).finally(() => before[Symbol.asyncDispose]()))
  let fulfilment: Service | undefined
  const running = stack.move()
  return {
    url: system.url,
    receiverPid: gateway.pid,
    get fulfilmentPid() {
      return fulfilment?.pid
    },
    gatewayDb: stores.gateway,
    prepare: (orderPrefix, count) => insertOrders(stores.fulfilment, orderPrefix, count),
    keptOf: (eventIds) => appliedOf(stores, eventIds),
    async restore() {
      fulfilment = running.use(await startService(system.fulfilment))
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
