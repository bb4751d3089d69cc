import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, MongoClient, MongoNetworkError, MongoServerError } from 'mongodb'
import { REPLICA_SET } from './mongod-arguments.ts'

const INVALID_REPLICA_SET_CONFIG = 93
const NOT_YET_INITIALIZED = 94

/**
 * Turns the server at an address into a replica set of one, and waits until it is a writable primary. Data that was
 * configured with another port is reconfigured. `member` is the address in its own configuration, if that differs (a
 * container's mapped port). A server closes connections when its state changes, so network errors are no failure.
 * @throws if it takes longer than a minute
 */
export async function becomePrimary(address: string, member = address): Promise<void> {
  const deadline = performance.now() + 60_000
  const patience = { serverSelectionTimeoutMS: 60_000, connectTimeoutMS: 2_000 }
  await using client = new MongoClient(`mongodb://${address}/?directConnection=true`, patience)
  while (!(await isPrimary(client.db('admin'), member))) {
    if (performance.now() > deadline) throw new Error(`MongoDB at ${address} did not become primary within a minute`)
    await sleep(20)
  }
}

/** Does the next step if there is one. */
async function isPrimary(admin: Db, member: string): Promise<boolean> {
  try {
    if ((await admin.command({ hello: 1 })).isWritablePrimary) return true
    await admin.command({ replSetGetStatus: 1 })
  } catch (error) {
    if (error instanceof MongoNetworkError) return false
    const code = error instanceof MongoServerError ? error.code : undefined
    if (code === NOT_YET_INITIALIZED) {
      await admin.command({ replSetInitiate: { _id: REPLICA_SET, members: [{ _id: 0, host: member }] } })
    } else if (code === INVALID_REPLICA_SET_CONFIG) {
      const { config } = await admin.command({ replSetGetConfig: 1 })
      const members = [{ ...config.members[0], host: member }]
      await admin.command({ replSetReconfig: { ...config, members, version: config.version + 1 }, force: true })
    } else throw error
  }
  return false
}
