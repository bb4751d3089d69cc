import { appendFileSync, renameSync, rmSync, statSync } from 'node:fs'
import type { Say } from '../progress.ts'

/** Where the lines of a service go, and how much of them is kept and shown. */
export interface ServiceLogOptions {
  readonly service: string
  readonly path: string
  /** Gets warnings and errors, in a form for people. */
  readonly say: Say
  /** The file is set aside once as `<path>.1` when it has this many bytes, so twice as many are kept. */
  readonly maxBytes?: number
  readonly now?: () => number
}

const MAX_BYTES = 16 * 1024 * 1024
const SHOWN_PER_WINDOW = 20
const WINDOW_MS = 10_000

/**
 * Keeps what a service prints in a bounded file, new at each start, and shows warnings and errors on the terminal: at most
 * twenty in ten seconds, then how many more there were.
 */
export class ServiceLog {
  readonly #options: ServiceLogOptions
  readonly #maxBytes: number
  readonly #now: () => number
  #bytes = 0
  #unfinished = ''
  #windowStart = 0
  #shown = 0
  #hidden = 0

  constructor(options: ServiceLogOptions) {
    this.#options = options
    this.#maxBytes = options.maxBytes ?? MAX_BYTES
    this.#now = options.now ?? Date.now
    if (statSync(options.path, { throwIfNoEntry: false })) renameSync(options.path, `${options.path}.1`)
    this.#keep('')
  }

  /** Takes what came from the service, in pieces of any size. */
  write(chunk: string): void {
    this.#keep(chunk)
    const lines = (this.#unfinished + chunk).split('\n')
    this.#unfinished = lines.pop() ?? ''
    for (const line of lines) this.#show(describeLogLine(line))
  }

  /** Shows what was held back: the end of a line, and the number of lines over the limit. */
  end(): void {
    this.#show(describeLogLine(this.#unfinished))
    this.#unfinished = ''
    this.#tellHidden()
  }

  #keep(chunk: string): void {
    const { path } = this.#options
    if (this.#bytes > this.#maxBytes) {
      rmSync(`${path}.1`, { force: true })
      renameSync(path, `${path}.1`)
      this.#bytes = 0
    }
    appendFileSync(path, chunk, { mode: 0o600 })
    this.#bytes += Buffer.byteLength(chunk)
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
 * What a person should see of a line that a service printed: warnings and errors as `<level> <name> <fields>`, lines that
 * are no JSON (a crash) as they are, undefined for the rest.
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
