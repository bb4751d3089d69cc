import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { nextMessage } from '../next-message.ts'
import type { Laboratory, Subject } from './subject.ts'

/** Starts the receiver that one would write oneself: Express, the provider's library, one awaited insert a delivery. */
export async function startNaive(laboratory: Laboratory, run: string): Promise<Subject> {
  const database = `naive_${run}`
  const child = fork(fileURLToPath(import.meta.resolve('./naive-process.ts')), {
    execArgv: [...laboratory.nodeFlags],
    env: {
      ...process.env,
      NODE_ENV: 'production',
      NAIVE_MONGODB_URI: laboratory.mongoUri,
      NAIVE_DB: database,
      NAIVE_SECRET: laboratory.secret,
    },
  })
  const { port } = (await nextMessage(child)) as AddressInfo
  const db = laboratory.database(database)
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    receiverPid: child.pid ?? 0,
    keptIds: async () => new Set(await db.collection('events').distinct('eventId')),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
      await db.dropDatabase()
    },
  }
}
