import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/error-codes'
import { type OpenFile, type OpenReceiptFile, ReceiptFile } from './receipt-file.ts'

const LOCK_AGAIN_MS = 20
const LOCK_WITHIN_MS = 3_000
const CHUNK_BYTES = 262_144
const LINE_FEED = 10

/** A file of receipts. */
interface ReceiptLines {
  readonly path: string
  readonly openFile: OpenReceiptFile
}

/**
 * Removes the customer and e-mail from the lines with these keys. Each line keeps its length, padded with spaces, so
 * that a reader of the file keeps its position. The changes are on disk when this resolves.
 * @throws unavailable if another process holds the file for too long
 */
export async function forgetLines({ path, openFile }: ReceiptLines, keys: readonly string[]): Promise<void> {
  const file = new ReceiptFile(path, openFile)
  try {
    await using _ = await lock(file)
    const handle = await openFile(path, 'r+')
    try {
      for await (const { line, position } of readLines(handle)) {
        const emptied = emptyLine(line, keys)
        if (emptied !== null) await handle.write(emptied, 0, emptied.length, position)
      }
      await handle.datasync()
    } finally {
      await handle.close()
    }
  } finally {
    await file.close()
  }
}

async function lock(file: ReceiptFile): Promise<AsyncDisposable> {
  const endsAt = performance.now() + LOCK_WITHIN_MS
  for (;;) {
    const held = await file.lock()
    if (held !== null) return held
    if (performance.now() > endsAt) throw unavailable({ reason: 'receipts_locked' })
    await sleep(LOCK_AGAIN_MS)
  }
}

interface Line {
  /** Without its line feed. */
  readonly line: Buffer
  readonly position: number
}

/** The current lines of the file. The last one may be torn. */
async function* readLines(file: OpenFile): AsyncGenerator<Line> {
  const { size } = await file.stat()
  let rest = Buffer.alloc(0)
  for (let read = 0; read < size; ) {
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - read))
    const { bytesRead } = await file.read(chunk, 0, chunk.length, read)
    if (bytesRead === 0) return
    const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)])
    const first = read - rest.length
    let begin = 0
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, begin)) {
      yield { line: bytes.subarray(begin, end), position: first + begin }
      begin = end + 1
    }
    rest = bytes.subarray(begin)
    read += bytesRead
  }
  if (rest.length > 0) yield { line: rest, position: size - rest.length }
}

/** The line without personal data and with the same length; null if nothing needs to change. */
function emptyLine(line: Buffer, keys: readonly string[]): Buffer | null {
  if (!keys.some((key) => line.includes(key))) return null
  const receipt = parse(line.toString())
  // A torn line is not a receipt, but it may contain personal data. None of it is needed.
  if (receipt === null) return Buffer.alloc(line.length, ' ')
  if (!keys.includes(String(receipt.key))) return null
  const emptied = Buffer.from(JSON.stringify({ ...receipt, customerId: '', email: null }))
  // Another program wrote this line, so there is no room in it.
  if (emptied.length > line.length) return null
  return Buffer.concat([emptied, Buffer.alloc(line.length - emptied.length, ' ')])
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
