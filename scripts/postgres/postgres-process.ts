import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { chown, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { stablePort } from '../ports/stable-port.ts'
import { untilReleased } from '../processes/until-released.ts'

const run = promisify(execFile)

/** Which programs run on which data. */
export interface PostgresOptions {
  /** The folder with `initdb` and `postgres`. */
  readonly programs: string
  /** The folder of the data. It is created if it is not there. */
  readonly data: string
  /** Settings of the server, such as `fsync=off`. */
  readonly settings?: readonly string[]
  /** The file for the server's log. Default: it is lost. */
  readonly logFile?: string
}

/** A PostgreSQL server that answers. */
export interface PostgresProcess {
  readonly url: string
  /** Aborted with a reason when the server ends. */
  readonly ended: AbortSignal
  /** Ends it with SIGINT, an orderly stop, or with SIGQUIT, at once. Kills it after `graceMs`. Returns whether it was not killed. */
  stop(signal: 'SIGINT' | 'SIGQUIT', graceMs: number): Promise<boolean>
}

const READY_MS = 45_000
const POLL_MS = 20

/**
 * Starts a server on a free port of this machine, for connections from this machine only. On Linux, it ends when this process
 * dies. PostgreSQL refuses to run as root: for root, it runs as the user `postgres` of Debian's package.
 */
export async function startPostgresProcess(options: PostgresOptions): Promise<PostgresProcess> {
  const { programs, data, settings = [], logFile } = options
  const user = await serverUser()
  if (!existsSync(data)) await createData(programs, data, user)
  await untilReleased(join(data, 'postmaster.pid'))
  const port = await stablePort()
  const all = ['unix_socket_directories=', ...settings]
  const flags = ['-D', data, '-h', '127.0.0.1', '-p', String(port), ...all.flatMap((one) => ['-c', one])]
  const asUser = user === null ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  const server = [join(programs, 'postgres'), ...flags]
  const [command = '', ...args] =
    process.platform === 'linux' ? ['setpriv', '--pdeathsig', 'QUIT', ...asUser, ...server] : server
  const log = logFile === undefined ? 'ignore' : openSync(logFile, 'w', 0o600)
  const child = spawn(command, args, { cwd: data, detached: true, stdio: ['ignore', log, log] })
  const ended = new AbortController()
  const end = (how: string) => ended.abort(new Error(`Stopping, because PostgreSQL ended (${how})`))
  child.on('error', (error) => end(error.message))
  child.on('exit', (code, signal) => end(`exit ${code ?? signal}`))
  const url = `postgres://test@127.0.0.1:${port}/postgres`
  await untilReady(url, ended.signal)
  return {
    url,
    ended: ended.signal,
    async stop(signal, graceMs) {
      if (ended.signal.aborted) return true
      const gone = once(ended.signal, 'abort')
      child.kill(signal)
      const killing = setTimeout(() => child.kill('SIGKILL'), graceMs)
      await gone
      clearTimeout(killing)
      return child.signalCode !== 'SIGKILL'
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

/** The folder appears complete: if this process dies meanwhile, the next one begins again. */
async function createData(programs: string, data: string, user: ServerUser | null): Promise<void> {
  const part = await mkdtemp(`${data}-part-`)
  if (user !== null) await chown(part, user.uid, user.gid)
  const initdb = ['--pgdata', part, '--username', 'test', '--auth', 'trust', '--encoding', 'UTF8', '--no-sync']
  await run(join(programs, 'initdb'), [...initdb, '--no-locale'], { ...user, cwd: part })
  await rename(part, data).catch(async (error: unknown) => {
    await rm(part, { recursive: true })
    throw error
  })
}

async function untilReady(url: string, ended: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_MS
  while (!(await answers(url))) {
    ended.throwIfAborted()
    if (performance.now() > deadline) throw new Error('PostgreSQL does not answer')
    await sleep(POLL_MS)
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
