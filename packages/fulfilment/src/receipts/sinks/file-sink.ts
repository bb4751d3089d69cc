import { setTimeout as sleep } from 'node:timers/promises'
import type { Receipt, ReceiptSink } from '../receipt-sink.ts'
import { checkFile } from './check-file.ts'
import { forgetLines } from './forget-lines.ts'
import { type OpenReceiptFile, openOnDisk, ReceiptFile, type ReceiptLine } from './receipt-file.ts'

const LOCK_AGAIN_MS = 20

/**
 * Creates a sink that appends each receipt to a file as one line of JSON. The line is on disk when `send` resolves.
 * Each key gets one line, despite disk stalls and failures, and even if several processes in one network namespace
 * share the file. A torn line is left in place, and the next receipt starts on a new line.
 */
export function createFileSink(path: string, openFile: OpenReceiptFile = openOnDisk): ReceiptSink {
  const queue = new LineQueue(new ReceiptFile(path, openFile))
  return {
    keyed: true,
    atOnce: 200,
    check: () => checkFile(path, openFile),
    async send(receipt, { repeated, signal }) {
      await queue.append({ key: receipt.key, line: lineOf(receipt), repeated }, signal)
    },
    forget: (keys) => forgetLines({ path, openFile }, keys),
    close: () => queue.close(),
  }
}

function lineOf(receipt: Receipt): string {
  return `${JSON.stringify(receipt)}\n`
}

interface Queued {
  readonly line: ReceiptLine
  readonly written: PromiseWithResolvers<void>
  waiters: number
}

/** Lines that arrive during a write are written together afterwards, with one write and one sync. */
class LineQueue {
  readonly #file: ReceiptFile
  readonly #waiting = new Map<string, Queued>()
  readonly #underWay = new Map<string, Queued>()
  #flushing: Promise<void> | undefined

  constructor(file: ReceiptFile) {
    this.#file = file
  }

  /** Appends a line. If its key is already queued or being written, both callers share the outcome. */
  append(line: ReceiptLine, signal: AbortSignal): Promise<void> {
    const queued = this.#underWay.get(line.key) ?? this.#waiting.get(line.key) ?? this.#enqueue(line)
    queued.waiters += 1
    signal.addEventListener('abort', () => this.#giveUp(queued), { once: true })
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined
    })
    return queued.written.promise
  }

  async close(): Promise<void> {
    await this.#flushing
    await this.#file.close()
  }

  #enqueue(line: ReceiptLine): Queued {
    const queued = { line, written: Promise.withResolvers<void>(), waiters: 0 }
    // There may be no listener left when it fails.
    queued.written.promise.catch(() => undefined)
    this.#waiting.set(line.key, queued)
    return queued
  }

  /** No caller waits for this line any more. If its write has not started, it never will. */
  #giveUp(queued: Queued): void {
    queued.waiters -= 1
    if (queued.waiters > 0 || this.#waiting.get(queued.line.key) !== queued) return
    this.#waiting.delete(queued.line.key)
    queued.written.reject(new Error('Writing the receipt file timed out'))
  }

  async #flush(): Promise<void> {
    while (this.#waiting.size > 0) {
      try {
        await using lock = await this.#file.lock()
        if (lock === null) await sleep(LOCK_AGAIN_MS)
        else await this.#writeWaiting()
      } catch (error) {
        this.#settle(this.#takeWaiting(), error)
      }
    }
  }

  async #writeWaiting(): Promise<void> {
    const group = this.#takeWaiting()
    for (const queued of group) this.#underWay.set(queued.line.key, queued)
    try {
      const onDisk = await this.#file.write(group.map(({ line }) => line))
      const torn = new Error('The receipt ended up in a torn line')
      for (const queued of group) this.#settle([queued], onDisk.has(queued.line.key) ? undefined : torn)
    } catch (error) {
      this.#settle(group, error)
    }
    this.#underWay.clear()
  }

  #takeWaiting(): Queued[] {
    const group = [...this.#waiting.values()]
    this.#waiting.clear()
    return group
  }

  #settle(group: readonly Queued[], error?: unknown): void {
    for (const { written } of group) {
      if (error === undefined) written.resolve()
      else written.reject(error)
    }
  }
}
