import { join } from 'node:path'
import { findMongod } from '../mongod/find-mongod.ts'
import { startPrivateMongod } from '../mongod/private-mongod.ts'
import { born } from '../processes/process-lock.mjs'
import { unlessAborted } from '../processes/unless-aborted.ts'
import { type Say, withProgress } from '../progress.ts'
import type { DataFolder } from './data-folder.ts'

/** The MongoDB of a running system. */
export interface Database {
  readonly uri: string
  /** How it is shown to the user. The user's own address is not shown, because it may contain a password. */
  readonly shown: string
  /** Aborted with a reason if our own server ends unexpectedly. */
  readonly ended: AbortSignal
  stop(graceMs: number): Promise<boolean>
}

const WATCH_MS = 500

/** The server that `MONGODB_URI` names, or a private one with its data in the data folder. */
export async function openDatabase(
  data: DataFolder,
  { env, say, signal }: { env: NodeJS.ProcessEnv; say: Say; signal: AbortSignal },
): Promise<Database> {
  if (env.MONGODB_URI || env.MONGODB_URI_FILE) {
    const uri = env.MONGODB_URI ?? ''
    return { uri, shown: 'as MONGODB_URI says', ended: new AbortController().signal, stop: async () => true }
  }
  const logFile = join(data.logs, 'mongod.log')
  const starting = startPrivateMongod({
    dbPath: data.mongo,
    portFile: data.mongoPort,
    logFile,
    find: () => unlessAborted(findMongod({ env, say }), signal),
    signal,
  })
  const server = await withProgress(say, 'Starting MongoDB', starting)
  if (server.adopted) say('MongoDB is still running from the last start, which was killed: using it')
  const ended = new AbortController()
  const watch = setInterval(() => {
    if (born(server.pid) !== undefined) return
    clearInterval(watch)
    ended.abort(new Error(`Stopping, because MongoDB ended; its log is ${logFile}`))
  }, WATCH_MS).unref()
  const stop = (graceMs: number) => {
    clearInterval(watch)
    return server.stop(graceMs)
  }
  return { uri: server.uri, shown: server.uri, ended: ended.signal, stop }
}
