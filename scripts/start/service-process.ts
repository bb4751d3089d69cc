import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { get as getSecure } from 'node:https'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { endProcess } from '../processes/end-process.ts'
import type { Say } from '../progress.ts'
import { SERVICE_FLAGS } from './node-flags.ts'
import { ServiceLog } from './service-log.ts'

/** The settings of a service process. */
export interface ServiceOptions {
  /** The name that messages use. */
  readonly name: string
  /** Path of its `main.ts`. */
  readonly script: string
  readonly args?: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly logFile: string
  /** Answers 200 once the service is ready. */
  readonly readyUrl: string
  readonly say: Say
}

/** A service that was started, ready or not. */
export interface ServiceProcess {
  /** Aborted with a message when the process ends, for any reason. */
  readonly ended: AbortSignal
  /** Waits until the service is ready. Throws the reason if it ends first, takes over a minute, or is called off. */
  ready(calledOff: AbortSignal): Promise<void>
  /** Sends SIGTERM, then SIGKILL after `graceMs` or when `hurry` is aborted. Returns whether SIGTERM was enough. */
  stop(graceMs: number, hurry: AbortSignal): Promise<boolean>
}

const READY_TIMEOUT_MS = 60_000
/** Exit codes of our services, and of mongod. */
const MEANINGS: Readonly<Record<number, string>> = {
  62: 'its data is of another version of MongoDB: use that one, or move the data folder away',
  78: 'its settings are wrong',
  100: 'its data is used by another mongod, or damaged',
}
const LEAVE_WITH_PARENT = pathToFileURL(join(import.meta.dirname, 'leave-with-parent.mjs')).href

/**
 * Starts a service in a separate process group, so a terminal's Ctrl-C does not reach it before its turn. The service
 * stops automatically when this process dies.
 */
export function startService(options: ServiceOptions): ServiceProcess {
  const { name, script, args = [], env, logFile, say } = options
  const log = new ServiceLog({ service: basename(logFile, '.log'), path: logFile, say })
  const child = spawn(process.execPath, [...SERVICE_FLAGS, '--import', LEAVE_WITH_PARENT, script, ...args], {
    detached: true,
    env,
    stdio: ['ignore', log.fd, log.fd, 'ipc'],
  })
  const ended = new AbortController()
  child.on('error', (error) => ended.abort(new Error(`Starting ${name} failed: ${error.message}`)))
  child.on('exit', (code, signal) => {
    log.end()
    const how = MEANINGS[code ?? 0] ?? `exit ${code ?? signal}`
    ended.abort(new Error(`Stopping, because ${name} ended (${how}); its log is ${logFile}`))
  })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    ended: ended.signal,
    ready: (calledOff) => untilReady(options, AbortSignal.any([ended.signal, calledOff])),
    async stop(graceMs, hurry) {
      if (child.pid === undefined) return true
      const byItself = await endProcess(child.pid, graceMs, hurry)
      if (byItself)
        await gone // its last lines are shown before those of the next part
      else killGroup(child.pid)
      return byItself
    },
  }
}

/** What a killed process has started is in its group. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function untilReady({ name, readyUrl, logFile }: ServiceOptions, over: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  for (let answer = 'nothing'; ; answer = await probe(readyUrl)) {
    over.throwIfAborted()
    if (answer === '200') return
    if (performance.now() > deadline) {
      throw new Error(`${name} is not ready after a minute: ${readyUrl} answers ${answer}; its log is ${logFile}`)
    }
    await sleep(25, undefined, { signal: over }).catch(() => over.throwIfAborted())
  }
}

async function probe(url: string): Promise<string> {
  // Any certificate is accepted, because the listener is our own child process.
  const options = { rejectUnauthorized: false, signal: AbortSignal.timeout(2_000) }
  const asking = url.startsWith('https:') ? getSecure(url, options) : get(url, options)
  try {
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    const body = await text(response)
    return response.statusCode === 200 ? '200' : `${response.statusCode} ${body.slice(0, 200)}`
  } catch {
    return 'nothing'
  }
}
