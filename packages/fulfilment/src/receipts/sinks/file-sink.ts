import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SettingsError } from '@oncehook/kernel/settings/settings'
import { withTimeout } from '@oncehook/kernel/time/waits'
import type { ReceiptSink } from '../receipt-sink.ts'

/** Appends text to a file, creates the file and its folder if they are missing, and resolves when the text is on disk. */
export type Append = (path: string, text: string) => Promise<void>

/** In the file system. Only the owner may read the file. */
const appendOnDisk: Append = async (path, text) => {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a+', 0o600)
  try {
    if (text === '') return
    await file.appendFile((await endsInsideLine(file)) ? `\n${text}` : text)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** Whether a process died while it wrote the last line. The next line would become part of it. */
async function endsInsideLine(file: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  const { size } = await file.stat()
  if (size === 0) return false
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer.toString() !== '\n'
}

/**
 * Creates a sink for development: it appends each receipt to a file as one line of JSON. Receipts that arrive during a write are
 * written together after it. An attempt that is repeated writes another line: readers compare keys. The path is opened for each
 * write, so a file can be rotated by renaming it.
 */
export function createFileSink(path: string, append: Append = appendOnDisk): ReceiptSink {
  let waiting: string[] = []
  let writing: Promise<void> = Promise.resolve()
  const writeWaiting = async (): Promise<void> => {
    const lines = waiting
    waiting = []
    await append(path, lines.join(''))
  }
  return {
    keyed: true,
    atOnce: 200,
    check: () => checkFile(() => append(path, '')),
    async send(receipt) {
      waiting.push(`${JSON.stringify(receipt)}\n`)
      // The first one of a group writes it, after the group before.
      if (waiting.length === 1) writing = writing.catch(() => undefined).then(writeWaiting)
      await writing
    },
    close: () => writing.catch(() => undefined),
  }
}

/** Errors that need an operator: no permission, no valid path, or another kind of file at the path. */
const TO_PUT_RIGHT: ReadonlySet<string> = new Set([
  ...['EACCES', 'EPERM', 'EROFS'],
  ...['EEXIST', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR', 'ENXIO'],
])

// A stalled disk is not a configuration error: the sink waits for it.
const LONGEST_MS = 2_000

/** @throws SettingsError if the file cannot be written until an operator intervenes. A full or stalled disk may recover */
async function checkFile(openFile: () => Promise<void>): Promise<void> {
  try {
    await withTimeout(openFile(), LONGEST_MS)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (!TO_PUT_RIGHT.has(code)) return
    const cure = 'Grant this process write access, or set RECEIPT_SINK=file:<path> to a file in a writable folder'
    throw new SettingsError([`RECEIPT_SINK names a file that cannot be opened for writing (${code}). ${cure}`], {
      cause: error,
    })
  }
}
