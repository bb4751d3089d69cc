import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { readFile, realpath, writeFile } from 'node:fs/promises'
import { MongoClient } from 'mongodb'
import { freePort, isListening } from '../ports/port.ts'
import { endProcess } from '../processes/end-process.ts'
import type { FoundMongod } from './find-mongod.ts'
import { mongodArguments, REPLICA_SET } from './mongod-arguments.ts'
import { becomePrimary } from './replica-set-of-one.ts'

/**
 * The files of a server that keeps its data, and how to find its program. An adopted server does not need the program.
 */
export interface PrivateMongodOptions {
  readonly dbPath: string
  /** Remembers the port between runs. */
  readonly portFile: string
  readonly logFile: string
  readonly find: () => Promise<FoundMongod>
  readonly signal: AbortSignal
}

/** One of our servers, which is a writable primary. */
export interface PrivateMongod {
  readonly uri: string
  readonly pid: number
  /** Whether it was still running, because the process that started it had been killed. */
  readonly adopted: boolean
  /**
   * Sends SIGTERM, then SIGKILL after `graceMs`. SIGKILL loses nothing that was journaled. Returns whether SIGTERM was
   * enough.
   */
  stop(graceMs: number): Promise<boolean>
}

const START_TIMEOUT_MS = 120_000
// Below the range that systems assign automatically, so that no outgoing connection takes the port between two runs.
const FIRST_PORT = 27_117
const LAST_PORT = 27_617
const ATTEMPTS = 5

/**
 * Starts a real replica set of one that keeps its data and listens on loopback only. A server that still runs on this
 * data is adopted instead. The server leads a separate process group, so a terminal's Ctrl-C does not reach it before
 * its turn. This is our own code, because `mongodb-memory-server` cannot adopt a server.
 */
export async function startPrivateMongod(options: PrivateMongodOptions): Promise<PrivateMongod> {
  mkdirSync(options.dbPath, { recursive: true, mode: 0o700 })
  const remembered = Number.parseInt(await readFile(options.portFile, 'utf8').catch(() => ''), 10) || FIRST_PORT
  const survivor = await findSurvivor(remembered, options.dbPath)
  if (survivor !== undefined) return running(remembered, survivor, true)
  const { binary } = await options.find()
  for (let port = await nextFreePort(remembered), attempt = 1; ; attempt += 1, port = await nextFreePort(port + 1)) {
    options.signal.throwIfAborted()
    await writeFile(options.portFile, String(port)) // before the start, so that the server can always be found again
    try {
      return running(port, await launch(binary, port, options), false)
    } catch (error) {
      // Another program may take the port between the check and the start. mongod can then fail in several ways.
      const portTaken = await isListening(`127.0.0.1:${port}`)
      if (!portTaken || attempt === ATTEMPTS || options.signal.aborted) throw error
    }
  }
}

function running(port: number, pid: number, adopted: boolean): PrivateMongod {
  return {
    uri: `mongodb://127.0.0.1:${port}/?replicaSet=${REPLICA_SET}`,
    pid,
    adopted,
    stop: (graceMs) => endProcess(pid, graceMs),
  }
}

async function findSurvivor(port: number, dbPath: string): Promise<number | undefined> {
  const address = `127.0.0.1:${port}`
  if (!(await isListening(address))) return undefined
  await using client = new MongoClient(`mongodb://${address}/?directConnection=true`, {
    serverSelectionTimeoutMS: 2_000,
  })
  try {
    const admin = client.db('admin')
    const { parsed } = await admin.command({ getCmdLineOpts: 1 })
    if ((await realpath(parsed.storage.dbPath)) !== (await realpath(dbPath))) return undefined
    const { pid } = await admin.command({ serverStatus: 1 })
    await becomePrimary({ address, timeoutMs: START_TIMEOUT_MS })
    return Number(pid)
  } catch {
    return undefined // something else listens there
  }
}

async function nextFreePort(from: number): Promise<number> {
  for (let port = from; port <= LAST_PORT; port += 1) {
    if ((await freePort(port)) !== undefined) return port
  }
  throw new Error(`No free port between ${from} and ${LAST_PORT} for MongoDB`)
}

async function launch(binary: string, port: number, options: PrivateMongodOptions): Promise<number> {
  const { dbPath, logFile, signal } = options
  const log = openSync(logFile, 'w', 0o600)
  const child = spawn(binary, mongodArguments({ dbPath, port }), { detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  child.unref()
  await once(child, 'spawn')
  const died = new AbortController()
  child.on('exit', (code, killedBy) => died.abort(new Error(describeDeath(code ?? killedBy, options))))
  const { pid = 0 } = child
  try {
    await becomePrimary({
      address: `127.0.0.1:${port}`,
      pid,
      timeoutMs: START_TIMEOUT_MS,
      signal: AbortSignal.any([signal, died.signal]),
    })
    return pid
  } catch (error) {
    const reason = signal.aborted ? signal.reason : died.signal.reason // read now: `endProcess` aborts `died` too
    await endProcess(pid, 3_000)
    throw reason ?? new Error(`mongod did not become ready; its log says why (${logFile})`, { cause: error })
  }
}

const DEATHS: Readonly<Record<string, string>> = {
  62: 'the data was written by another MongoDB version; use that one, or move the data folder away',
  100: 'the data is in use by another mongod, or damaged',
}

function describeDeath(code: number | NodeJS.Signals | null, { dbPath, logFile }: PrivateMongodOptions): string {
  const meaning = DEATHS[String(code)] ?? 'its log says why'
  return `mongod ended with ${code} on the data in ${dbPath}: ${meaning} (${logFile})`
}
