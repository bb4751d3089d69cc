import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findMongod } from '../mongod/find-mongod.ts'
import { mongodArguments, REPLICA_SET } from '../mongod/mongod-arguments.ts'
import { becomePrimary } from '../mongod/replica-set-of-one.ts'
import { stablePort } from '../ports/stable-port.ts'
import { untilReleased } from '../processes/until-released.ts'
import { type Say, withProgress } from '../progress.ts'
import type { DataFolder } from './data-folder.ts'
import { startService } from './service-process.ts'

/** The MongoDB of a running system. */
export interface Database {
  readonly uri: string
  /** How it is shown to the user. The user's own address is not shown, because it may contain a password. */
  readonly shown: string
  /** Aborted with a reason if our own server ends unexpectedly. */
  readonly ended: AbortSignal
  stop(graceMs: number, hurry: AbortSignal): Promise<boolean>
}

const STOP_MS = 3_000
const RUN_PROGRAM = join(import.meta.dirname, 'run-program.mjs')

/** The server that `MONGODB_URI` names, or a private one with its data in the data folder. It ends with this process. */
export async function openDatabase(
  data: DataFolder,
  { env, say, signal, port: wanted }: { env: NodeJS.ProcessEnv; say: Say; signal: AbortSignal; port: number | null },
): Promise<Database> {
  if (env.MONGODB_URI || env.MONGODB_URI_FILE) {
    const uri = env.MONGODB_URI ?? ''
    return { uri, shown: 'as MONGODB_URI says', ended: new AbortController().signal, stop: async () => true }
  }
  const { binary } = await unlessAborted(findMongod({ env, say }), signal)
  mkdirSync(data.mongo, { recursive: true, mode: 0o700 })
  await unlessAborted(untilReleased(join(data.mongo, 'mongod.lock')), signal)
  const port = wanted ?? (await stablePort())
  const address = `127.0.0.1:${port}`
  const { ended, stop } = startService({
    ...{ name: 'MongoDB', script: RUN_PROGRAM, args: [binary, ...mongodArguments({ dbPath: data.mongo, port })], env },
    ...{ logFile: join(data.logs, 'mongod.log'), readyUrl: '', say: () => undefined },
  })
  const primary = unlessAborted(becomePrimary(address), AbortSignal.any([signal, ended]))
  await withProgress(say, 'Starting MongoDB', primary).catch(async (error: unknown) => {
    await stop(STOP_MS, new AbortController().signal)
    throw error
  })
  const uri = `mongodb://${address}/?replicaSet=${REPLICA_SET}`
  return { uri, shown: uri, ended, stop }
}

/** Returns the outcome of `work`. Throws the signal's reason as soon as the signal is aborted. The work continues. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
