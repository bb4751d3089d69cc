import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgresProcess } from '../../../scripts/postgres/postgres-process.ts'

/** A private PostgreSQL server, which vanishes with its data. */
export interface PostgresServer extends AsyncDisposable {
  readonly url: string
  /** Creates an empty database, and returns its URL. */
  createDatabase(name: string): Promise<string>
}

/** Settings of a test, which needs no data that survive the machine. */
const FOR_TESTS = ['fsync=off', 'max_connections=200', 'shared_buffers=16MB']
const STOP_MS = 10_000

/** Starts a server on a free port of this machine. It ends when this process dies. */
export async function startPostgres(
  programs: string,
  settings: readonly string[] = FOR_TESTS,
): Promise<PostgresServer> {
  const data = join(tmpdir(), `oncehook-postgres-${randomUUID()}`)
  const { url, stop } = await startPostgresProcess({ programs, data, settings })
  return {
    url,
    async createDatabase(name) {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => undefined)
      await client.connect()
      await client.query(`create database ${name}`).finally(() => client.end())
      return new URL(`/${name}`, url).href
    },
    async [Symbol.asyncDispose]() {
      await stop('SIGQUIT', STOP_MS)
      await rm(data, { recursive: true })
    },
  }
}
