import { type FileHandle, mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { tryLock } from './file-lock.ts'
import { KeyIndex } from './key-index.ts'

/** A receipt as a line, by its key. */
export interface ReceiptLine {
  readonly key: string
  /** One line of JSON with its line feed. */
  readonly line: string
  /** It may have been written before. */
  readonly repeated: boolean
}

/** What is needed of an open file. */
export type OpenFile = Pick<FileHandle, 'stat' | 'read' | 'write' | 'datasync' | 'close'>

/** Opens a file; a test may open one that is slow or fails. */
export type OpenReceiptFile = (path: string, flags: 'a+' | 'r+') => Promise<OpenFile>

/** Opens a file of the file system, with its folder. Nobody else may read it. */
export const openOnDisk: OpenReceiptFile = async (path, flags) => {
  await mkdir(dirname(path), { recursive: true })
  return open(path, flags, 0o600)
}

/**
 * The file of receipts, as one process writes it. Not to be used by two calls at once. It follows its path: a file that
 * was renamed or removed gets no more lines.
 */
export class ReceiptFile {
  readonly #path: string
  readonly #open: OpenReceiptFile
  #file: OpenFile | undefined
  #index: KeyIndex | undefined
  #identity = ''
  /** All before this is on disk. */
  #syncedTo = 0
  #isSuspect = false

  constructor(path: string, openFile: OpenReceiptFile) {
    this.#path = path
    this.#open = openFile
  }

  /** Becomes the only writer of the file, if no other process is. */
  async lock(): Promise<AsyncDisposable | null> {
    if (this.#file !== undefined && (await identityAt(this.#path)) !== this.#identity) await this.close()
    await this.#opened()
    return tryLock(`oncehook-receipts-${this.#identity}`)
  }

  /** Writes lines whose keys the file has not, to disk. The keys that are on disk then, each in a whole line. */
  async write(lines: readonly ReceiptLine[]): Promise<Set<string>> {
    const { file, index } = await this.#opened()
    if (this.#isSuspect) await this.#writeAgain(file, index)
    await index.catchUp()
    const there = await index.find(lines.filter(({ repeated }) => repeated).map(({ key }) => key))
    const missing = lines.filter(({ key }) => !there.has(key) && !index.has(key)).map(({ line }) => line)
    if (missing.length > 0) {
      const bytes = Buffer.from(`${index.endsInsideLine ? '\n' : ''}${missing.join('')}`)
      // One write call: with O_APPEND the lines of several processes do not mix.
      const { bytesWritten } = await file.write(bytes)
      if (bytesWritten !== bytes.length) throw new Error('The receipt file took only a part of the lines')
    }
    const { size } = await file.stat()
    await this.#sync(file)
    // Another process may have torn a line meanwhile, and the first of ours would be a part of it.
    await index.catchUp()
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
      const { dev, ino, size } = await file.stat()
      this.#identity = `${dev}-${ino}`
      this.#syncedTo = size
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
   * After a failed sync the system takes its copy in memory for written, although it may not be. So the same bytes are
   * written again to the same place: a second line of the same key would be a second receipt.
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

/** Tells one file from another; null where there is none. */
async function identityAt(path: string): Promise<string | null> {
  try {
    const { dev, ino } = await stat(path)
    return `${dev}-${ino}`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
