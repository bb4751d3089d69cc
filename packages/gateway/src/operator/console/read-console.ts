import { hash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** One built file of the operator's page. */
export interface ConsoleFile {
  readonly type: string
  readonly content: Buffer
  /** Null if the compressed file is not smaller. */
  readonly compressed: Buffer | null
  /** Weak, because it is the same for the compressed file. */
  readonly etag: string
  /** Whether its name changes with its content, so that it never has to be asked for again. */
  readonly isImmutable: boolean
}

/** The built files of the operator's page, by the exact path of a request. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

/** The path of the file that every page begins with. */
export const INDEX = '/index.html'
/** The prefix of the files whose name changes with their content. */
const ASSETS = '/assets/'
const MOST_FILES = 500
const MOST_BYTES = 16_777_216

// Files of other types are not served.
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}
const compress = promisify(gzip)

/**
 * Reads the built files of a folder into memory. Request paths never reach the file system. Symbolic links are ignored.
 * @throws Error if the folder cannot be read, has no `index.html`, or has more than 500 files or 16 MiB
 */
export async function readConsole(folder: string): Promise<ConsoleFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  if (paths.length > MOST_FILES || bytes > MOST_BYTES)
    throw new Error('The folder has too many files, or too large ones')
  const served = paths.filter((path) => Object.hasOwn(TYPES, extname(path)))
  const files = new Map(await Promise.all(served.map((path) => readOne(folder, path))))
  if (!files.has(INDEX)) throw new Error('The folder has no index.html')
  return files
}

async function readOne(folder: string, path: string): Promise<[string, ConsoleFile]> {
  const content = await readFile(path)
  const compressed = await compress(content, { level: 9 })
  const name = `/${relative(folder, path).split(sep).join('/')}`
  const file = {
    type: TYPES[extname(path)] ?? '',
    content,
    compressed: compressed.length < content.length ? compressed : null,
    etag: `W/"${hash('sha256', content, 'base64url')}"`,
    isImmutable: name.startsWith(ASSETS),
  }
  return [name, file]
}
