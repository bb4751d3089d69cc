import type { Receiver, Setup, StartReceiver } from '../receiver.ts'
import { describeSystem } from './describe-system.ts'
import { storedOf } from './kept-by-oncehook.ts'
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
    keptOf: (eventIds) => storedOf(db, eventIds),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await db.dropDatabase()
    },
  }
}
