import type { FileHandle } from 'node:fs/promises'

/** What is needed of an open file to read it. */
export type ReadableFile = Pick<FileHandle, 'stat' | 'read'>

const CHUNK_BYTES = 262_144
const MOST_KEYS = 100_000
const LINE_FEED = 10

/**
 * The keys in a file of receipts that grows. Each look reads only what was appended since the last one, by any process.
 * The newest 100,000 keys are remembered; an older key is looked for in the whole file, all wanted keys in one pass.
 */
export class KeyIndex {
  readonly #file: ReadableFile
  readonly #keys = new Set<string>()
  /** Keys that were looked for in the whole file and not found. */
  readonly #absent = new Set<string>()
  #position: number
  #isComplete: boolean
  #rest: Buffer = Buffer.alloc(0)

  private constructor(file: ReadableFile, position: number) {
    this.#file = file
    this.#position = position
    this.#isComplete = position === 0
  }

  /** Begins at the end of a file: what is before is read when it is asked for. */
  static async atEndOf(file: ReadableFile): Promise<KeyIndex> {
    const { size } = await file.stat()
    const index = new KeyIndex(file, Math.max(0, size - 1))
    await index.catchUp()
    return index
  }

  /** Whether the file ends inside a line: the next line would become a part of it. */
  get endsInsideLine(): boolean {
    return this.#rest.length > 0
  }

  /** Whether a whole line with this key is known. */
  has(key: string): boolean {
    return this.#keys.has(key)
  }

  /** Reads what was appended. The keys among `wanted` that were seen in whole lines. */
  async catchUp(wanted: ReadonlySet<string> = new Set()): Promise<Set<string>> {
    const found = new Set<string>()
    const { size } = await this.#file.stat()
    // Somebody has emptied or shortened the file: what was known of it is no longer there.
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

  /** Those of the keys that a whole line of the file has, at whatever place. */
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

  /** Forgets all and reads on from here, the beginning of a line. */
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
    // No receipt is as long as a chunk: of such a line only the end matters.
    this.#rest = bytes.subarray(Math.max(begin, bytes.length - CHUNK_BYTES))
  }
}

/** The key of a whole line; null for a torn one. */
function keyOf(line: string): string | null {
  try {
    const { key } = JSON.parse(line) as { key?: unknown }
    return typeof key === 'string' ? key : null
  } catch {
    return null
  }
}
