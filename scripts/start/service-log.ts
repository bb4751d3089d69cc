import { closeSync, copyFileSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import type { Say } from '../progress.ts'

/** Where the lines of a service are written, and how many are kept and shown. */
export interface ServiceLogOptions {
  readonly service: string
  readonly path: string
  /** Receives warnings and errors, in a form for people. */
  readonly say: Say
  /**
   * When the file has more bytes than this, its content is moved to `<path>.1`. So about twice as many bytes are kept.
   */
  readonly maxBytes?: number
  readonly now?: () => number
}

const MAX_BYTES = 16 * 1024 * 1024
const SHOWN_PER_WINDOW = 20
const WINDOW_MS = 10_000
const POLL_MS = 100

/**
 * A log file of limited size that a service writes to directly. Each start begins a new file. The file needs no reader:
 * the service neither waits for this process nor breaks when it dies. The terminal shows warnings and errors: at most
 * twenty in ten seconds, then the number of the others.
 */
export class ServiceLog {
  /** The file descriptor for the standard streams of the service. */
  readonly fd: number
  readonly #options: ServiceLogOptions
  readonly #maxBytes: number
  readonly #now: () => number
  readonly #decoder = new StringDecoder('utf8')
  readonly #timer: NodeJS.Timeout
  #position = 0
  #unfinished = ''
  #windowStart = 0
  #shown = 0
  #hidden = 0

  constructor(options: ServiceLogOptions) {
    this.#options = options
    this.#maxBytes = options.maxBytes ?? MAX_BYTES
    this.#now = options.now ?? Date.now
    if (statSync(options.path, { throwIfNoEntry: false })) renameSync(options.path, `${options.path}.1`)
    this.fd = openSync(options.path, 'a+', 0o600) // append: after a truncation, writing continues at the start
    this.#timer = setInterval(() => this.poll(), POLL_MS).unref()
  }

  /** Reads what was added since the last call. A timer calls it ten times per second. */
  poll(): void {
    const { size } = fstatSync(this.fd)
    const chunk = Buffer.alloc(Math.max(0, size - this.#position))
    const read = readSync(this.fd, chunk, 0, chunk.length, this.#position)
    this.#position += read
    const lines = (this.#unfinished + this.#decoder.write(chunk.subarray(0, read))).split('\n')
    this.#unfinished = lines.pop() ?? ''
    for (const line of lines) this.#show(describeLogLine(line))
    if (size > this.#maxBytes) this.#setAside()
  }

  /** Shows the last lines and the number of hidden lines, and closes the file. */
  end(): void {
    clearInterval(this.#timer)
    this.poll()
    this.#show(describeLogLine(this.#unfinished))
    this.#tellHidden()
    closeSync(this.fd)
  }

  /** Loses a line that the service prints between the two steps: the cost of letting the service write directly. */
  #setAside(): void {
    copyFileSync(this.#options.path, `${this.#options.path}.1`)
    ftruncateSync(this.fd, 0)
    this.#position = 0
  }

  #show(line: string | undefined): void {
    if (line === undefined) return
    if (this.#now() - this.#windowStart > WINDOW_MS) {
      this.#tellHidden()
      this.#windowStart = this.#now()
      this.#shown = 0
    }
    if (this.#shown < SHOWN_PER_WINDOW) this.#options.say(`[${this.#options.service}] ${line}`)
    else this.#hidden += 1
    this.#shown += 1
  }

  #tellHidden(): void {
    const { service, path, say } = this.#options
    if (this.#hidden > 0) say(`[${service}] … and ${this.#hidden} more such lines: see ${path}`)
    this.#hidden = 0
  }
}

/**
 * What a person should see of a line that a service printed. Warnings and errors become `<level> <name> <fields>`.
 * Lines that are not JSON (a crash) stay as they are. Undefined for all other lines.
 */
export function describeLogLine(line: string): string | undefined {
  if (line.trim() === '') return undefined
  if (!line.startsWith('{')) return line
  if (/"level":"(?:trace|debug|info)"/.test(line)) return undefined // nearly every line: not worth parsing
  try {
    const { level, time: _time, service: _service, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
    return `${level} ${msg}${Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''}`
  } catch {
    return line
  }
}
