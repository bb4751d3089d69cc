import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/error-codes'
import { lockFile, type OpenFile, type OpenReceiptFile } from './receipt-file.ts'

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
 * that a reader of the file keeps its position. The changes are on disk when this resolves. Others can append while it
 * looks for the lines: complete lines never move, and nobody else changes what they say.
 * @throws unavailable if another process holds the file for too long
 */
export async function forgetLines({ path, openFile }: ReceiptLines, keys: readonly string[]): Promise<void> {
  const file = await openThere({ path, openFile })
  if (file === null) return
  const wanted = new Set(keys)
  try {
    const { found, end } = await findLines(file, wanted)
    await using _ = await lock(file)
    for (const part of found) await emptyLines(file, part, wanted)
    // The last line may be torn, or was appended meanwhile.
    await emptyLines(file, { begin: end, end: (await file.stat()).size }, wanted)
    await file.datasync()
  } finally {
    await file.close()
  }
}

async function openThere({ path, openFile }: ReceiptLines): Promise<OpenFile | null> {
  try {
    return await openFile(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function lock(file: OpenFile): Promise<AsyncDisposable> {
  const endsAt = performance.now() + LOCK_WITHIN_MS
  for (;;) {
    const held = await lockFile(file)
    if (held !== null) return held
    if (performance.now() > endsAt) throw unavailable({ reason: 'receipts_locked' })
    await sleep(LOCK_AGAIN_MS)
  }
}

/** A part of a file. */
interface Part {
  readonly begin: number
  readonly end: number
}

/** Finds the complete lines to be emptied, and where the last of all complete lines ends. */
async function findLines(file: OpenFile, keys: ReadonlySet<string>): Promise<{ found: Part[]; end: number }> {
  const size = await sizeBetweenWrites(file)
  const found: Part[] = []
  let end = 0
  for await (const { line, position } of readLines(file, { begin: 0, end: size })) {
    const lineEnd = position + line.length
    // Without a line feed: the lines end at its beginning.
    if (lineEnd === size) break
    end = lineEnd + 1
    if (emptyLine(line, keys) !== null) found.push({ begin: position, end: lineEnd })
  }
  return { found, end }
}

/** The size while nobody writes: everything before it stays as it is. */
async function sizeBetweenWrites(file: OpenFile): Promise<number> {
  await using _ = await lock(file)
  return (await file.stat()).size
}

async function emptyLines(file: OpenFile, part: Part, keys: ReadonlySet<string>): Promise<void> {
  for await (const { line, position } of readLines(file, part)) {
    const emptied = emptyLine(line, keys)
    if (emptied !== null) await file.write(emptied, 0, emptied.length, position)
  }
}

interface Line {
  /** Without its line feed. */
  readonly line: Buffer
  readonly position: number
}

/** The lines of a part of the file that begins with a line. The last one may have no line feed. */
async function* readLines(file: OpenFile, { begin: first, end: last }: Part): AsyncGenerator<Line> {
  let rest = Buffer.alloc(0)
  let read = first
  while (read < last) {
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, last - read))
    const { bytesRead } = await file.read(chunk, 0, chunk.length, read)
    if (bytesRead === 0) return
    const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)])
    const position = read - rest.length
    let begin = 0
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, begin)) {
      yield { line: bytes.subarray(begin, end), position: position + begin }
      begin = end + 1
    }
    rest = bytes.subarray(begin)
    read += bytesRead
  }
  if (rest.length > 0) yield { line: rest, position: last - rest.length }
}

/** The line without personal data and with the same length; null if nothing needs to change. */
function emptyLine(line: Buffer, keys: ReadonlySet<string>): Buffer | null {
  const receipt = parse(line.toString())
  if (receipt === null) {
    // A torn line is not a receipt, but it may contain personal data. None of it is needed.
    return [...keys].some((key) => line.includes(key)) ? Buffer.alloc(line.length, ' ') : null
  }
  if (!keys.has(String(receipt.key))) return null
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
