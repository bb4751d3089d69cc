import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import type { Receipt, ReceiptSink } from '../receipt-sink.ts'

/**
 * Creates a sink that appends each receipt to a file as one line of JSON, on disk when `send` resolves. Several
 * processes may share the file. A repeated receipt is looked for first; a line torn by a crash is left behind and the
 * next one begins afresh.
 */
export function createFileSink(path: string): ReceiptSink {
  const appender = createAppender(path)
  return {
    keyed: true,
    atOnce: 32,
    async send(receipt, { repeated }) {
      if (repeated && (await hasKey(path, receipt.key))) return
      await appender.append(`${JSON.stringify(receipt)}\n`)
    },
    close: () => appender.close(),
  }
}

interface Waiting {
  readonly line: string
  readonly settle: (error?: unknown) => void
}

/** Lines that arrive while others are being synced wait and go together: one write and one sync for all of them. */
function createAppender(path: string) {
  let file: Promise<FileHandle> | undefined
  let waiting: Waiting[] = []
  let flushing: Promise<void> | undefined
  let torn = true

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        await write(group.map(({ line }) => line).join(''))
        for (const { settle } of group) settle()
      } catch (error) {
        torn = true
        for (const { settle } of group) settle(error)
      }
    }
  }

  async function write(lines: string): Promise<void> {
    file ??= openForAppend(path)
    const handle = await file.catch((error: unknown) => {
      file = undefined
      throw error
    })
    const bytes = Buffer.from(torn && (await endsInsideLine(handle)) ? `\n${lines}` : lines)
    // One write call: with O_APPEND the lines of several processes do not mix.
    const { bytesWritten } = await handle.write(bytes)
    if (bytesWritten !== bytes.length) throw new Error('The receipt file took only a part of the lines')
    await handle.datasync()
    torn = false
  }

  return {
    append(line: string): Promise<void> {
      return new Promise((resolve, reject) => {
        waiting.push({ line, settle: (error) => (error === undefined ? resolve() : reject(error)) })
        flushing ??= flush().finally(() => {
          flushing = undefined
        })
      })
    },
    async close(): Promise<void> {
      await flushing
      await (await file?.catch(() => undefined))?.close()
      file = undefined
    },
  }
}

async function openForAppend(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true })
  return open(path, 'a+', 0o600)
}

async function endsInsideLine(handle: FileHandle): Promise<boolean> {
  const { size } = await handle.stat()
  if (size === 0) return false
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] !== 0x0a
}

/** Whether a whole line of the file is the receipt of this key; a torn line does not count. */
async function hasKey(path: string, key: string): Promise<boolean> {
  const stream = createReadStream(path)
  try {
    for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (line.includes(key) && keyOf(line) === key) return true
    }
    return false
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  } finally {
    stream.destroy()
  }
}

function keyOf(line: string): string | undefined {
  try {
    return (JSON.parse(line) as Partial<Receipt>).key
  } catch {
    return undefined
  }
}
