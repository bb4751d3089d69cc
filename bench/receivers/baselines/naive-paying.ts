import { fork } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import { nextMessage } from '../../next-message.ts'
import { endChild } from '../end-child.ts'
import { findStored, type StoredEvent } from '../find-stored.ts'
import { insertOrders } from '../oncehook/insert-orders.ts'
import type { Receiver, Setup } from '../receiver.ts'

/** Starts a simple receiver that also pays the order, writes the receipt and marks the event, before it answers. */
export async function startNaivePaying(setup: Setup, run: string): Promise<Receiver> {
  const name = `naive_paying_${run}`
  const child = fork(fileURLToPath(import.meta.resolve('./naive-paying-process.ts')), {
    execArgv: [...setup.nodeFlags],
    env: {
      ...process.env,
      NODE_ENV: 'production',
      NAIVE_MONGODB_URI: setup.mongoUri,
      NAIVE_DB: name,
      NAIVE_SECRET: setup.secret,
      NAIVE_RECEIPTS: join(setup.folder, `receipts-${name}.jsonl`),
    },
  })
  const { port } = (await nextMessage(child)) as AddressInfo
  const database = setup.database(name)
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    receiverPid: child.pid ?? 0,
    prepare: (orderPrefix, count) => insertOrders(database, orderPrefix, count),
    keptOf: (eventIds) => paidOf(database, eventIds),
    async [Symbol.asyncDispose]() {
      await endChild(child)
      await database.dropDatabase()
    },
  }
}

/** The ids whose events are done and whose orders were paid by the payment that the event reports. */
async function paidOf(database: Db, eventIds: readonly string[]): Promise<Set<string>> {
  const payments: string[] = await database.collection('orders').distinct('payment.id', { status: 'paid' })
  const events = database.collection<StoredEvent>('events')
  const done = { state: 'done', 'event.data.object.id': { $in: payments } }
  return new Set((await findStored(events, done, eventIds)).map(({ eventId }) => eventId))
}
