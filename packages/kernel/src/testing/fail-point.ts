import { setTimeout as sleep } from 'node:timers/promises'
import { type Document, MongoClient, MongoServerError } from 'mongodb'
import type { Secret } from '../secrets/secret.ts'

/**
 * Which commands of which client fail, how often, and how. Fields are those of the server's `failCommand`
 * (`errorCode` and others).
 */
export interface FailPointSpec {
  readonly commands: readonly string[]
  /** Default: every client. */
  readonly appName?: string
  /** Default: once. */
  readonly times?: number
  /** Instead, let this many succeed first. All others fail. */
  readonly after?: number
  readonly how: Readonly<Document>
}

// Who has the fail point says so again and again: only a test that was killed ceases to.
const LOCK_MS = 120_000
const RENEW_MS = 5_000
const RETRY_MS = 20
const DUPLICATE_KEY = 11_000

/**
 * Makes commands fail until the end of the scope, which throws if none failed. A server has only one such fail point,
 * so tests in other processes wait for their turn.
 */
export async function armFailPoint(uri: Secret, spec: FailPointSpec): Promise<AsyncDisposable> {
  const client = await new MongoClient(uri.reveal()).connect()
  const configure = async (mode: unknown): Promise<number> => {
    const sender = spec.appName === undefined ? {} : { appName: spec.appName }
    const data = { failCommands: spec.commands, ...sender, ...spec.how }
    const reply = await client.db('admin').command({ configureFailPoint: 'failCommand', mode, data })
    return Number(reply.count)
  }
  await lock(client)
  const renewing = setInterval(() => void renew(client).catch(() => undefined), RENEW_MS)
  const before = await configure(spec.after === undefined ? { times: spec.times ?? 1 } : { skip: spec.after })
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(renewing)
      const after = await configure('off')
      await locks(client).deleteOne({ _id: 'failCommand' })
      await client.close()
      if (after <= before) throw new Error('The fail point never fired, so the test shows nothing')
    },
  }
}

const HOLDING = {
  find: 'waitInFindBeforeMakingBatch',
  insert: 'hangDuringBatchInsert',
  update: 'hangDuringBatchUpdate',
} as const

/**
 * Holds the finds, inserts or updates of one collection until the end of the scope, however long that is. A server has one fail point
 * for each kind: only one file of tests may hold commands of a kind.
 */
export async function holdCommands(uri: Secret, kind: keyof typeof HOLDING, nss: string): Promise<AsyncDisposable> {
  const client = await new MongoClient(uri.reveal()).connect()
  const configureFailPoint = HOLDING[kind]
  await client.db('admin').command({ configureFailPoint, mode: 'alwaysOn', data: { nss } })
  return {
    async [Symbol.asyncDispose]() {
      await client.db('admin').command({ configureFailPoint, mode: 'off' })
      await client.close()
    },
  }
}

function renew(client: MongoClient): Promise<unknown> {
  return locks(client).updateOne({ _id: 'failCommand' }, { $set: { until: new Date(Date.now() + LOCK_MS) } })
}

function locks(client: MongoClient) {
  return client.db('oncehook_test_locks').collection<{ _id: string; until: Date }>('locks')
}

async function lock(client: MongoClient): Promise<void> {
  for (;;) {
    const now = Date.now()
    const free = { _id: 'failCommand', until: { $lt: new Date(now) } }
    try {
      await locks(client).updateOne(free, { $set: { until: new Date(now + LOCK_MS) } }, { upsert: true })
      return
    } catch (error) {
      if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) throw error
      await sleep(RETRY_MS)
    }
  }
}
