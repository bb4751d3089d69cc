import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** How many bytes of lines may wait for their reader. */
const MAX_WAITING_BYTES = 1_048_576

// PIPE_BUF of Linux: a pipe that several processes share takes so much from each without mixing their lines.
const PIECE_BYTES = 4_096
const GATHERED_LENGTH = 65_536
const LONGEST_PAUSE_MS = 200
const EXIT_PAUSE_MS = 5
const EXIT_MS = 300

const LINE_FEED = 10
const writeLater = promisify(write)

/**
 * Standard output as the destination of a log that never stops its process. What the reader does not take waits, up to a
 * MiB of it; the lines beyond that are lost and counted. A pipe, a socket and a terminal are written to without waiting,
 * a file by a thread of the pool, one write at a time, since a disk can stall as well.
 *
 * The lines of one turn of the event loop go out together at its end, in their order. The exit of the process writes the
 * rest, and waits at most 300 ms for a slow reader.
 */
export class LogOutput {
  /** Called with the number of lost lines as soon as half of the room is free again. */
  onRoom: (lost: number) => void = () => undefined
  readonly #descriptor: number
  readonly #isFile: boolean
  #gathered = ''
  /** Lines that were gathered before, from the first byte that is not written. */
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

  /** How many lines were lost since the process started. */
  get dropped(): number {
    return this.#dropped
  }

  /** Takes one line, or counts it as lost. */
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

  /** Writes as much as the reader takes now. A file is left to the pool. */
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

  /** Writes until nothing waits or no more is taken; the code of the error that says so. */
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
      // A full disk: it is tried again after a pause.
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

  /** No callback comes any more: the pool ends what it has in hand, and the rest follows here. */
  #finish(): void {
    this.#written(this.#inThePool)
    const giveUpAt = performance.now() + EXIT_MS
    while (this.#writeNow() === 'EAGAIN' && performance.now() < giveUpAt) pause(EXIT_PAUSE_MS)
  }
}

/**
 * A descriptor of standard output that answers EAGAIN where a write would wait. The open file may be shared with other
 * processes, any of which may make it wait again; so it is opened anew where that is possible: not for a socket, and not
 * for a pipe of another user. There Node's own stream is asked for, for it makes pipes and sockets not wait.
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
