import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Counter, type Registry } from 'prom-client'

/** Maximum bytes of log lines waiting for the reader. */
const MAX_WAITING_BYTES = 1_048_576

// PIPE_BUF on Linux: writes of up to this size by several processes to one pipe do not interleave.
const PIECE_BYTES = 4_096
const GATHERED_LENGTH = 65_536
const LONGEST_PAUSE_MS = 200
const EXIT_PAUSE_MS = 5
const EXIT_MS = 300

const LINE_FEED = 10
const writeLater = promisify(write)

/**
 * A log destination on standard output that never blocks the process. Up to 1 MiB of unread lines is buffered;
 * further lines are dropped and counted. Pipes, sockets and terminals are written without blocking. Files are written
 * by a pool thread, one write at a time, because a disk can stall as well.
 *
 * The lines of one event loop turn are written together at its end, in order. On exit the process writes the rest and
 * waits at most 300 ms for a slow reader. In a file, lines that the pool thread is writing at that moment may follow the
 * rest.
 *
 * Own code, because `pino.destination` lets an unread pipe block a thread of the pool, and waits for its reader without
 * a limit on exit.
 */
export class LogOutput {
  /** Called with the number of dropped lines as soon as half of the buffer is free again. */
  onRoom: (lost: number) => void = () => undefined
  readonly #descriptor: number
  readonly #isFile: boolean
  #gathered = ''
  /** Lines collected earlier, starting at the first unwritten byte. */
  #leaving: Buffer = Buffer.alloc(0)
  #bytes = 0
  #draining = false
  #inThePool = 0
  #dropped = 0
  #toReport = 0

  constructor() {
    this.#isFile = fstatSync(1).isFile()
    this.#descriptor = this.#isFile ? 1 : openWithoutWaiting()
    process.on('exit', () => this.#finish())
  }

  get dropped(): number {
    return this.#dropped
  }

  /** Accepts a line, or counts it as dropped. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (this.#bytes + bytes > MAX_WAITING_BYTES) {
      this.#dropped += 1
      this.#toReport += 1
      return
    }
    if (this.#bytes === 0) setImmediate(() => this.#drain())
    this.#gathered += line
    this.#bytes += bytes
    if (this.#gathered.length > GATHERED_LENGTH) void this.#drain()
  }

  /** Writes as much as the reader accepts now. Files are left to the pool. */
  flushSync(): void {
    if (this.#isFile) void this.#drain()
    else this.#writeNow()
  }

  async #drain(): Promise<void> {
    if (this.#draining) return
    this.#draining = true
    let pauseMs = 1
    while (this.#bytes > 0) {
      const before = this.#bytes
      if (this.#isFile) await this.#writeInPool()
      else this.#writeNow()
      const moved = this.#bytes < before
      pauseMs = moved ? 1 : Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)
      const mustWait = this.#isFile ? !moved : this.#bytes > 0
      if (mustWait) await sleep(pauseMs, undefined, { ref: false })
    }
    this.#draining = false
  }

  /** Writes until the buffer is empty or a write fails. Returns the error code of the failure. */
  #writeNow(): string | undefined {
    try {
      while (this.#bytes > 0) this.#written(writeSync(this.#descriptor, this.#nextPiece()))
    } catch (error) {
      return (error as NodeJS.ErrnoException).code
    }
    return undefined
  }

  async #writeInPool(): Promise<void> {
    const piece = this.#nextPiece()
    this.#inThePool = piece.length
    try {
      this.#written((await writeLater(this.#descriptor, piece)).bytesWritten)
    } catch {
      // The disk is full. Retried after a pause.
    }
    this.#inThePool = 0
  }

  #nextPiece(): Buffer {
    if (this.#leaving.length === 0) {
      this.#leaving = Buffer.from(this.#gathered)
      this.#gathered = ''
    }
    if (this.#isFile || this.#leaving.length <= PIECE_BYTES) return this.#leaving
    const end = this.#leaving.lastIndexOf(LINE_FEED, PIECE_BYTES - 1)
    return this.#leaving.subarray(0, (end === -1 ? this.#leaving.indexOf(LINE_FEED) : end) + 1)
  }

  #written(bytes: number): void {
    this.#leaving = this.#leaving.subarray(bytes)
    this.#bytes -= bytes
    if (this.#toReport === 0 || this.#bytes > MAX_WAITING_BYTES / 2) return
    const lost = this.#toReport
    this.#toReport = 0
    this.onRoom(lost)
  }

  /** Callbacks no longer run: the pool finishes its current write, and the rest is written here. */
  #finish(): void {
    this.#written(this.#inThePool)
    const giveUpAt = performance.now() + EXIT_MS
    while (this.#writeNow() === 'EAGAIN' && performance.now() < giveUpAt) pause(EXIT_PAUSE_MS)
  }
}

/**
 * Returns a descriptor of standard output that fails with EAGAIN instead of blocking. Other processes may share the
 * open file description and make it blocking again. So the file is reopened where possible, which excludes sockets
 * and pipes of another user. For those, touching Node's own stream makes the descriptor non-blocking.
 */
function openWithoutWaiting(): number {
  try {
    return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    void process.stdout
    return 1
  }
}

const nothing = new Int32Array(new SharedArrayBuffer(4))

function pause(ms: number): void {
  Atomics.wait(nothing, 0, 0, ms)
}

/** Adds the counter `oncehook_log_lines_dropped_total` to a registry. Shows 0 without an output. */
export function addLogMetrics(registry: Registry, output: Pick<LogOutput, 'dropped'> | undefined): void {
  new Counter({
    name: 'oncehook_log_lines_dropped_total',
    help: 'Log lines dropped because the reader was too slow',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(output?.dropped ?? 0)
    },
  })
}
