import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { findMongod } from '../scripts/mongod/find-mongod.ts'
import { MEASURED_SERVER } from '../scripts/mongod/mongod-arguments.ts'
import { startThrowawayMongod } from '../scripts/mongod/throwaway-mongod.ts'
import { takeLock } from '../scripts/processes/process-lock.mjs'
import type { Setup } from './receivers/receiver.ts'

/** A setup with the version of its MongoDB. */
export interface OpenSetup extends Setup, AsyncDisposable {
  readonly mongodVersion: string
}

/**
 * Starts the MongoDB that all rows of a run share. Only one run is possible at a time. The folder is emptied first; the logs
 * of the receivers remain in it afterwards.
 */
export async function openSetup(folder: string, say: (line: string) => void): Promise<OpenSetup> {
  await using open = new AsyncDisposableStack()
  const lock = takeLock(`${folder}.lock`)
  if (!('release' in lock)) throw new Error(`Another benchmark is running (process ${lock.heldBy})`)
  open.defer(lock.release)
  const dbPath = join(folder, 'mongo')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(dbPath, { recursive: true, mode: 0o700 })
  const found = await findMongod({ env: process.env, say })
  const mongod = open.use(await startThrowawayMongod(found, { flags: MEASURED_SERVER, dbPath }))
  const client = open.use(await new MongoClient(mongod.uri).connect())
  const stack = open.move()
  return {
    mongoUri: mongod.uri,
    mongodPid: mongod.pid,
    mongodVersion: found.version,
    folder,
    secret: `whsec_${randomBytes(24).toString('base64url')}`,
    database: (name) => client.db(name),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
