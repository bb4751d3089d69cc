import type { StartReceiver } from '../receiver.ts'
import { describeSystem } from './describe-system.ts'
import { storedOf } from './kept-by-oncehook.ts'
import { startService } from './service.ts'

/** Starts the gateway alone: fulfilment is unavailable, so everything waits for it. */
export const startAccepting: StartReceiver = async (setup, run) => {
  const system = await describeSystem(setup, run)
  const gateway = await startService(system.gateway)
  const db = setup.database(system.gatewayDb)
  return {
    url: system.url,
    receiverPid: gateway.pid,
    keptOf: (eventIds) => storedOf(db, eventIds),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await db.dropDatabase()
    },
  }
}
