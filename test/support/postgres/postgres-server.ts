import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from '../../../scripts/ports/port.ts'
import { until } from '../until.ts'

const run = promisify(execFile)

/** A private PostgreSQL server, which vanishes with its data. */
export interface PostgresServer extends AsyncDisposable {
  readonly url: string
  /** Creates an empty database, and returns its URL. */
  createDatabase(name: string): Promise<string>
}

/** Settings of a test, which needs no data that survive the machine. */
const FOR_TESTS = ['fsync=off', 'max_connections=200', 'shared_buffers=16MB']

/**
 * Starts a server on a free port of this machine. It ends when this process dies. PostgreSQL refuses to run as root: for root,
 * it runs as the user `postgres` of Debian's package.
 */
export async function startPostgres(programs: string, own: readonly string[] = FOR_TESTS): Promise<PostgresServer> {
  const data = await mkdtemp(join(tmpdir(), 'oncehook-postgres-'))
  const user = await serverUser()
  if (user !== null) await chown(data, user.uid, user.gid)
  const initdb = ['--pgdata', data, '--username', 'test', '--auth', 'trust', '--encoding', 'UTF8', '--no-sync']
  await run(join(programs, 'initdb'), [...initdb, '--no-locale'], { ...user, cwd: data })
  const port = (await freePort(0)) ?? 0
  const settings = ['unix_socket_directories=', ...own]
  const flags = ['-D', data, '-h', '127.0.0.1', '-p', String(port), ...settings.flatMap((one) => ['-c', one])]
  const asUser = user === null ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  const args = ['--pdeathsig', 'QUIT', ...asUser, join(programs, 'postgres'), ...flags]
  const server = spawn('setpriv', args, { cwd: data, stdio: 'ignore' })
  const exited = once(server, 'exit')
  const url = `postgres://test@127.0.0.1:${port}/postgres`
  await until(async () => server.exitCode !== null || (await answers(url)), Boolean)
  if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}`)
  return {
    url,
    async createDatabase(name) {
      await query(url, `create database ${name}`)
      return new URL(`/${name}`, url).href
    },
    async [Symbol.asyncDispose]() {
      server.kill('SIGQUIT')
      await exited
      await rm(data, { recursive: true })
    },
  }
}

interface ServerUser {
  readonly uid: number
  readonly gid: number
}

async function serverUser(): Promise<ServerUser | null> {
  if (process.getuid?.() !== 0) return null
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => run('id', [flag, 'postgres'])))
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
}

async function answers(url: string): Promise<boolean> {
  return query(url, 'select 1').then(
    () => true,
    () => false,
  )
}

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  await client.query(text).finally(() => client.end())
}
