import type { FileHandle } from 'node:fs/promises'

/** The functions needed to read an open file. */
export type ReadableFile = Pick<FileHandle, 'stat' | 'read'>

const CHUNK_BYTES = 262_144
const MOST_KEYS = 100_000
const LINE_FEED = 10

/**
 * Index of the keys in a growing file of receipts. Each update reads only the lines appended since the last one, by
 * any process. It remembers the newest 100,000 keys. An older key is searched for in the whole file, in one pass for
 * all requested keys.
 */
export class KeyIndex {
  readonly #file: ReadableFile
  readonly #keys = new Set<string>()
  /** Keys that a search of the whole file did not find. */
  readonly #absent = new Set<string>()
  #position: number
  #isComplete: boolean
  #rest: Buffer = Buffer.alloc(0)

  private constructor(file: ReadableFile, position: number) {
    this.#file = file
    this.#position = position
    this.#isComplete = position === 0
  }

  /** Starts at the end of the file. Earlier lines are read when they are needed. */
  static async atEndOf(file: ReadableFile): Promise<KeyIndex> {
    const { size } = await file.stat()
    const index = new KeyIndex(file, Math.max(0, size - 1))
    await index.catchUp()
    return index
  }

  /** Whether the file ends in the middle of a line. The next line would then become part of it. */
  get endsInsideLine(): boolean {
    return this.#rest.length > 0
  }

  /** Whether a complete line with this key is known. */
  has(key: string): boolean {
    return this.#keys.has(key)
  }

  /** Reads the appended lines. Returns the `wanted` keys found in complete lines. */
  async catchUp(wanted: ReadonlySet<string> = new Set()): Promise<Set<string>> {
    const found = new Set<string>()
    const { size } = await this.#file.stat()
    // The file was truncated, so the index no longer applies.
    if (size < this.#position) this.rewind(0)
    while (this.#position < size) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - this.#position))
      const { bytesRead } = await this.#file.read(chunk, 0, chunk.length, this.#position)
      if (bytesRead === 0) break
      this.#position += bytesRead
      for (const key of this.#keysOf(chunk.subarray(0, bytesRead))) {
        if (wanted.has(key)) found.add(key)
        this.#remember(key)
      }
    }
    return found
  }

  /**
   * Notes complete lines that this process has just appended, without reading them. Returns false, and notes nothing,
   * if the file has grown by anything else: only reading then shows what is in it.
   */
  noteAppended(keys: readonly string[], { bytes, size }: { bytes: number; size: number }): boolean {
    if (size !== this.#position + bytes) return false
    this.#position = size
    this.#rest = Buffer.alloc(0)
    for (const key of keys) this.#remember(key)
    return true
  }

  /** Returns the keys that a complete line anywhere in the file has. */
  async find(keys: readonly string[]): Promise<Set<string>> {
    const found = new Set(keys.filter((key) => this.#keys.has(key)))
    const unknown = keys.filter((key) => !this.#keys.has(key) && !this.#absent.has(key))
    if (unknown.length === 0 || this.#isComplete) return found
    this.rewind(0)
    const seen = await this.catchUp(new Set(unknown))
    if (this.#absent.size > MOST_KEYS) this.#absent.clear()
    for (const key of unknown) if (!seen.has(key)) this.#absent.add(key)
    return new Set([...found, ...seen])
  }

  /** Clears the index and continues from here, the start of a line. */
  rewind(position: number): void {
    this.#keys.clear()
    this.#absent.clear()
    this.#rest = Buffer.alloc(0)
    this.#position = position
    this.#isComplete = position === 0
  }

  #remember(key: string): void {
    this.#keys.add(key)
    if (this.#keys.size <= MOST_KEYS) return
    const [oldest = ''] = this.#keys
    this.#keys.delete(oldest)
    this.#isComplete = false
  }

  *#keysOf(chunk: Buffer): Generator<string> {
    const bytes = Buffer.concat([this.#rest, chunk])
    let begin = 0
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, begin)) {
      const key = keyOf(bytes.toString('utf8', begin, end))
      if (key !== null) yield key
      begin = end + 1
    }
    // No receipt is as long as a chunk. Only the end of such a line matters.
    this.#rest = bytes.subarray(Math.max(begin, bytes.length - CHUNK_BYTES))
  }
}

/** The key of a complete line; null for a torn line. */
function keyOf(line: string): string | null {
  try {
    const { key } = JSON.parse(line) as { key?: unknown }
    return typeof key === 'string' ? key : null
  } catch {
    return null
  }
}
