import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { COMPILED_CODE } from '../compiled-code.ts'

/** Settings of a service, by the names of its environment. */
export type Settings = Readonly<Record<string, string>>

/** One line of a service's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string }

/** How a process ended, and how many milliseconds after the signal. */
export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly ms: number
}

type Exit = Pick<Ending, 'code' | 'signal'>

const PACKAGES = join(import.meta.dirname, '../../../packages')
const LEAVE_WITH_PARENT = pathToFileURL(join(import.meta.dirname, '../../../scripts/start/leave-with-parent.mjs')).href
// These only end what hangs: on a busy machine a start takes many times longer.
const READY_MS = 240_000
const GONE_MS = 60_000

/** A service as a separate process, which a test can kill, freeze and start again on the same port. */
export class ServiceUnderTest implements AsyncDisposable {
  readonly name: string
  /** All its log lines, across restarts. */
  readonly lines: LogLine[] = []
  /** Its faults, one sentence each: it ended without being asked to, or wrote output that is not a log line. */
  readonly faults: string[] = []
  #settings: Settings
  #script: string
  #written = ''
  #child: ChildProcess | undefined
  #ended: Promise<Exit> | undefined
  #endIsPlanned = false

  /** `script`: the file that Node runs. Default: the service's own. */
  constructor(name: 'gateway' | 'fulfilment', settings: Settings, script = join(PACKAGES, name, 'src/main.ts')) {
    this.name = name
    this.#settings = settings
    this.#script = script
  }

  /** Everything that came out of it, standard output and standard error, byte for byte. */
  get written(): string {
    return this.#written
  }

  /** The process that is alive now. */
  get pid(): number {
    return this.#alive().child.pid ?? 0
  }

  /** Whether it has been started and has not ended. */
  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /** How often it has logged this message. */
  countOf(message: string): number {
    return this.lines.filter(({ msg }) => msg === message).length
  }

  /** Starts it and waits until it reports that it is ready. If it ends first, throws its standard error. */
  async start(): Promise<void> {
    this.#endIsPlanned = false
    const child = spawn(process.execPath, ['--import', LEAVE_WITH_PARENT, this.#script], {
      env: { ...COMPILED_CODE, PATH: process.env.PATH, ...this.#settings },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#child = child
    const started = Promise.withResolvers<void>()
    this.#ended = this.#watch(child, started)
    if ((await withTimeout(started.promise, READY_MS)) === TIMED_OUT) throw new Error(`The ${this.name} hangs`)
  }

  /** Sends a signal that ends it and waits until it is gone; one that hangs is killed. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' | 'SIGHUP'): Promise<Ending> {
    const { child, ended } = this.#alive()
    this.#endIsPlanned = true
    const toldAt = performance.now()
    child.kill(signal)
    if ((await withTimeout(ended, GONE_MS)) === TIMED_OUT) child.kill('SIGKILL')
    const ending = await ended
    return { ...ending, ms: performance.now() - toldAt }
  }

  /** Waits until it has ended by itself. */
  untilEnded(): Promise<Exit> {
    const { ended } = this.#alive()
    this.#endIsPlanned = true
    return ended
  }

  /** Starts it again. */
  async restart(): Promise<void> {
    if (this.#child !== undefined) throw new Error(`The ${this.name} is still running`)
    await this.start()
  }

  /** Chooses another script and other settings, as an upgrade does. They count from the next start on. */
  become(script: string, settings: Settings): void {
    this.#script = script
    this.#settings = settings
  }

  /** Freezes it: its connections stay open and nothing answers. */
  pause(): void {
    this.#alive().child.kill('SIGSTOP')
  }

  /** Resumes it. */
  resume(): void {
    this.#alive().child.kill('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child === undefined) return
    this.resume()
    const { code } = await this.kill('SIGTERM')
    if (code === 0) return
    const why = this.#written.split('\n').filter((line) => line.includes('"service.stage-failed"'))
    this.faults.push([`The ${this.name} ended with ${code} when it was told to stop`, ...why].join('\n'))
  }

  #alive() {
    if (this.#child === undefined || this.#ended === undefined) throw new Error(`The ${this.name} is not running`)
    return { child: this.#child, ended: this.#ended }
  }

  #keep(line: string): string | undefined {
    try {
      const parsed = JSON.parse(line) as LogLine
      this.lines.push(parsed)
      return parsed.msg
    } catch {
      this.faults.push(`The ${this.name} wrote a line that is not JSON`)
      return undefined
    }
  }

  async #watch(child: ChildProcess, started: PromiseWithResolvers<void>): Promise<Exit> {
    const { stdout, stderr } = child
    if (stdout === null || stderr === null) throw new Error('The output goes nowhere')
    createInterface({ input: stdout }).on('line', (line) => {
      this.#written += `${line}\n`
      if (this.#keep(line) === 'service.started') started.resolve()
    })
    const complaint = text(stderr)
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    this.#written += await complaint
    this.#child = undefined
    started.reject(new Error(`The ${this.name} ended with ${code ?? signal} before it was ready: ${await complaint}`))
    if (!this.#endIsPlanned) this.faults.push(`The ${this.name} ended by itself with ${code ?? signal}`)
    return { code, signal }
  }
}

/** The exit code and output of a process that ended without a signal. */
export interface RunToEnd {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a service to its end. */
export async function runToEnd(name: 'gateway' | 'fulfilment', settings: Settings): Promise<RunToEnd> {
  const child = spawn(process.execPath, [join(PACKAGES, name, 'src/main.ts')], {
    env: { ...COMPILED_CODE, PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: READY_MS,
  })
  const ended = once(child, 'close') as Promise<[number | null]>
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, stdout, stderr }
}
