import { setTimeout as sleep } from 'node:timers/promises'
import { type Document, MongoClient, MongoNetworkError, MongoServerError } from 'mongodb'
import { isListening } from '../ports/port.ts'
import { unlessAborted } from '../processes/unless-aborted.ts'
import { REPLICA_SET } from './mongod-arguments.ts'

/** A server to turn into a replica set of one. */
export interface SingleMember {
  /** Host and port for connections from here. */
  readonly address: string
  /** Host and port in its own configuration, if they differ (a container's mapped port). */
  readonly member?: string
  /** Its process id, if known. Another server that answers at the address is left alone. */
  readonly pid?: number
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

const ALREADY_INITIALIZED = 23
const INVALID_REPLICA_SET_CONFIG = 93

/**
 * Waits until the server is a writable primary. Initializes new data, and reconfigures data that was configured with
 * another port. A server closes connections when its state changes, so commands are repeated after network errors.
 * Throws if all of this takes longer than `timeoutMs`, or if another server has the address.
 */
export async function becomePrimary({
  address,
  member = address,
  pid,
  timeoutMs,
  signal,
}: SingleMember): Promise<void> {
  const deadline = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])])
  while (!(await isListening(address))) await sleep(20, undefined, { signal: deadline })
  await using client = new MongoClient(`mongodb://${address}/?directConnection=true`, {
    serverSelectionTimeoutMS: timeoutMs,
    connectTimeoutMS: 2_000,
  })
  const admin = client.db('admin')
  const run = async (command: Document): Promise<Document> => {
    for (;;) {
      const answer = await unlessAborted(admin.command(command).catch(aNetworkError), deadline)
      if (!(answer instanceof MongoNetworkError)) return answer
      await sleep(20, undefined, { signal: deadline })
    }
  }
  if (pid !== undefined && Number((await run({ serverStatus: 1 })).pid) !== pid) {
    throw new Error(`Another server answers at ${address}`)
  }
  await run({ replSetInitiate: { _id: REPLICA_SET, members: [{ _id: 0, host: member }] } }).catch(
    ignoring(ALREADY_INITIALIZED),
  )
  for (let moved = false; ; await sleep(20, undefined, { signal: deadline })) {
    if ((await run({ hello: 1 })).isWritablePrimary) return
    if (!moved) moved = await moveMember(run, member)
  }
}

/** Gives the member its new address, if it needs one. Returns whether it did. */
async function moveMember(run: (command: Document) => Promise<Document>, member: string): Promise<boolean> {
  const status = await run({ replSetGetStatus: 1 }).catch((error: unknown) => error)
  if (!(status instanceof MongoServerError && status.code === INVALID_REPLICA_SET_CONFIG)) return false
  const { config } = await run({ replSetGetConfig: 1 })
  const members = [{ ...config.members[0], host: member }]
  await run({ replSetReconfig: { ...config, members, version: config.version + 1 }, force: true })
  return true
}

function aNetworkError(error: unknown): MongoNetworkError {
  if (error instanceof MongoNetworkError) return error
  throw error
}

function ignoring(code: number) {
  return (error: unknown) => {
    if (!(error instanceof MongoServerError && error.code === code)) throw error
  }
}
