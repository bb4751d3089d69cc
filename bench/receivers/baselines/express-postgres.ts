import { fork } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { nextMessage } from '../../next-message.ts'
import { endChild } from '../end-child.ts'
import { startPaymentsDatabase } from '../handlers/payments-database.ts'
import type { StartReceiver } from '../receiver.ts'

/** Starts a hand-written receiver: Express, the provider's library, and one transaction of PostgreSQL per delivery. */
export const startExpressPostgres: StartReceiver = async (setup) => {
  await using stack = new AsyncDisposableStack()
  const payments = stack.use(await startPaymentsDatabase())
  const child = fork(fileURLToPath(import.meta.resolve('./express-postgres-process.ts')), {
    execArgv: [...setup.nodeFlags],
    env: { ...process.env, NODE_ENV: 'production', NAIVE_DATABASE_URL: payments.url, NAIVE_SECRET: setup.secret },
  })
  stack.defer(() => endChild(child))
  const { port } = (await nextMessage(child)) as AddressInfo
  const kept = stack.move()
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    receiverPid: child.pid ?? 0,
    keptOf: (eventIds) => payments.paidOnce(eventIds),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}
