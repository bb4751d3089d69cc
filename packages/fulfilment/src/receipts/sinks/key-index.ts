import type { FileHandle } from 'node:fs/promises'
import { KeyHashes } from './key-hashes.ts'

/** The functions needed to read an open file. */
export type ReadableFile = Pick<FileHandle, 'stat' | 'read'>

const CHUNK_BYTES = 262_144
const MOST_KEYS = 100_000
const GENERATION = MOST_KEYS / 2
const LINE_FEED = 10

/**
 * Index of the keys in a growing file of receipts. Each update reads only the lines appended since the last one, by
 * any process. It remembers the newest 50,000 to 100,000 keys. Other keys are searched for in the whole file, in one
 * pass for all requested keys. This pass keeps a hash of each key: later, the file is searched only for a key whose hash
 * is there. If the file has more than 2,000,000 keys, there are no hashes.
 */
export class KeyIndex {
  readonly #file: ReadableFile
  /** Two generations: removing the oldest key of a large set, each time, would take longer than reading the line. */
  #newest = new Set<string>()
  #older = new Set<string>()
  /** Of at least all keys before the position; null if only some are known. */
  #hashes: KeyHashes | null
  /** Keys that a search of the whole file did not find. */
  readonly #absent = new Set<string>()
  #position: number
  #isComplete: boolean
  #rest: Buffer = Buffer.alloc(0)

  private constructor(file: ReadableFile, position: number) {
    this.#file = file
    this.#position = position
    this.#isComplete = position === 0
    this.#hashes = position === 0 ? new KeyHashes() : null
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
    return this.#newest.has(key) || this.#older.has(key)
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
    const found = new Set(keys.filter((key) => this.has(key)))
    const unknown = keys.filter((key) => !found.has(key) && this.#mayBeEarlier(key))
    if (unknown.length === 0 || this.#isComplete) return found
    this.rewind(0)
    const seen = await this.catchUp(new Set(unknown))
    if (this.#absent.size > MOST_KEYS) this.#absent.clear()
    for (const key of unknown) if (!seen.has(key)) this.#absent.add(key)
    return new Set([...found, ...seen])
  }

  /** Clears the index and continues from here, the start of a line. */
  rewind(position: number): void {
    this.#newest = new Set()
    this.#older = new Set()
    this.#absent.clear()
    this.#rest = Buffer.alloc(0)
    this.#position = position
    this.#isComplete = position === 0
    if (position === 0) this.#hashes = new KeyHashes()
  }

  #mayBeEarlier(key: string): boolean {
    return !this.#absent.has(key) && (this.#hashes === null || this.#hashes.has(key))
  }

  #remember(key: string): void {
    this.#absent.delete(key)
    if (this.#hashes?.add(key) === false) this.#hashes = null
    this.#newest.add(key)
    if (this.#newest.size < GENERATION) return
    if (this.#older.size > 0) this.#isComplete = false
    this.#older = this.#newest
    this.#newest = new Set()
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
