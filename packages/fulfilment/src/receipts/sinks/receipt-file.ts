import type { Stats } from 'node:fs'
import { type FileHandle, mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type FileLock, tryLock } from './file-lock.ts'
import { KeyIndex } from './key-index.ts'

/** A receipt as a line, with its key. */
export interface ReceiptLine {
  readonly key: string
  /** One line of JSON with its line feed. */
  readonly line: string
  /** It may have been written before. */
  readonly repeated: boolean
}

/** The functions needed from an open file. */
export type OpenFile = Pick<FileHandle, 'stat' | 'read' | 'write' | 'datasync' | 'close'>

/** Opens a file. Tests can pass a slow or failing one. */
export type OpenReceiptFile = (path: string, flags: 'a+' | 'r+') => Promise<OpenFile>

/** Opens a file in the file system and creates its folder. Only the owner may read it. */
export const openOnDisk: OpenReceiptFile = async (path, flags) => {
  await mkdir(dirname(path), { recursive: true })
  return open(path, flags, 0o600)
}

/** Becomes the only writer of an open file unless another process is. The lock does not follow its path. */
export async function lockFile(file: Pick<OpenFile, 'stat'>): Promise<FileLock | null> {
  return tryLock(`oncehook-receipts-${identityOf(await file.stat())}`)
}

/**
 * Writer of a receipt file in one process. Not safe for concurrent calls. It follows the path: a renamed or deleted
 * file gets no more lines.
 */
export class ReceiptFile {
  readonly #path: string
  readonly #open: OpenReceiptFile
  #file: OpenFile | undefined
  #index: KeyIndex | undefined
  #identity = ''
  /** Everything before this offset is on disk. */
  #syncedTo = 0
  #isSuspect = false

  constructor(path: string, openFile: OpenReceiptFile) {
    this.#path = path
    this.#open = openFile
  }

  /** Becomes the only writer of the file unless another process is. */
  async lock(): Promise<AsyncDisposable | null> {
    if (this.#file !== undefined && (await identityAt(this.#path)) !== this.#identity) await this.close()
    const { file } = await this.#opened()
    return lockFile(file)
  }

  /**
   * Writes the lines whose keys are not in the file, and syncs. Returns the keys that are then on disk in complete
   * lines.
   */
  async write(lines: readonly ReceiptLine[]): Promise<Set<string>> {
    const { file, index } = await this.#opened()
    if (this.#isSuspect) await this.#writeAgain(file, index)
    await index.catchUp()
    const there = await index.find(lines.filter(({ repeated }) => repeated).map(({ key }) => key))
    const missing = lines.filter(({ key }) => !there.has(key) && !index.has(key))
    const bytes = missing.length === 0 ? 0 : await append(file, index, missing)
    const { size } = await file.stat()
    await this.#sync(file)
    const keys = missing.map(({ key }) => key)
    // Another process may have left a torn line, and our first line would become part of it.
    if (bytes === 0 || !index.noteAppended(keys, { bytes, size })) await index.catchUp()
    this.#syncedTo = size
    return new Set(lines.filter(({ key }) => there.has(key) || index.has(key)).map(({ key }) => key))
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
    this.#index = undefined
  }

  async #opened(): Promise<{ file: OpenFile; index: KeyIndex }> {
    if (this.#file === undefined || this.#index === undefined) {
      const file = await this.#open(this.#path, 'a+')
      const stats = await file.stat()
      this.#identity = identityOf(stats)
      this.#syncedTo = stats.size
      this.#isSuspect = false
      this.#index = await KeyIndex.atEndOf(file)
      this.#file = file
    }
    return { file: this.#file, index: this.#index }
  }

  async #sync(file: OpenFile): Promise<void> {
    try {
      await file.datasync()
    } catch (error) {
      this.#isSuspect = true
      throw error
    }
  }

  /**
   * After a failed sync, the kernel considers its cached pages written although they may not be. Write the same bytes
   * to the same position again: a second line with the same key would be a second receipt.
   */
  async #writeAgain(file: OpenFile, index: KeyIndex): Promise<void> {
    const begin = this.#syncedTo
    const { size } = await file.stat()
    const bytes = Buffer.alloc(Math.max(0, size - begin))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, begin)
    const inPlace = await this.#open(this.#path, 'r+')
    try {
      await inPlace.write(bytes, 0, bytesRead, begin)
      await inPlace.datasync()
    } finally {
      await inPlace.close()
    }
    this.#isSuspect = false
    index.rewind(begin)
  }
}

/** Returns the number of appended bytes. */
async function append(file: OpenFile, index: KeyIndex, lines: readonly ReceiptLine[]): Promise<number> {
  const bytes = Buffer.from(`${index.endsInsideLine ? '\n' : ''}${lines.map(({ line }) => line).join('')}`)
  // A single write call: with O_APPEND, lines of several processes do not interleave.
  const { bytesWritten } = await file.write(bytes)
  if (bytesWritten !== bytes.length) throw new Error('The lines were written only partially')
  return bytesWritten
}

function identityOf({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev}-${ino}`
}

/** Identifies a file; null if there is none. */
async function identityAt(path: string): Promise<string | null> {
  try {
    return identityOf(await stat(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
