import { hash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { methodNotAllowed } from '@oncehook/kernel/http/error-codes'
import { parseEntityTagList } from '@oncehook/kernel/http/preconditions'

const YEAR_SECONDS = 31_536_000

/**
 * Answers a request for the operator's page or one of its files. Returns false if the path is neither; it is compared as
 * it was sent, without decoding anything.
 * @throws methodNotAllowed, and invalidRequest for an `If-None-Match` that is not valid
 */
export function serveConsole(files: ConsoleFiles, request: IncomingMessage, response: ServerResponse): boolean {
  const path = request.url?.split('?', 1)[0] ?? ''
  const file = files.get(isConsolePage(path) ? INDEX : path)
  if (file === undefined) return false
  const isHead = request.method === 'HEAD'
  if (request.method !== 'GET' && !isHead) throw methodNotAllowed({}, { headers: { Allow: allowedOn(path) } })
  response.setHeader('ETag', file.etag)
  response.setHeader('Vary', 'Accept-Encoding')
  response.setHeader('Cache-Control', file.isImmutable ? `max-age=${YEAR_SECONDS}, immutable` : 'no-cache')
  if (isKnownToClient(request.headers['if-none-match'], file)) {
    response.writeHead(304).end()
    return true
  }
  const coded = takesGzip(request.headers['accept-encoding']) ? file.compressed : null
  const body = coded ?? file.content
  if (coded !== null) response.setHeader('Content-Encoding', 'gzip')
  response.writeHead(200, { 'Content-Type': file.type, 'Content-Length': body.length })
  response.end(isHead ? undefined : body)
  return true
}

/** The methods of a path of the page. One path also takes the code of a sign-in. */
function allowedOn(path: string): string {
  return path === SIGN_IN_PATH ? 'GET, HEAD, POST' : 'GET, HEAD'
}

/** The path that shows the sign-in, and takes its code by `POST`. */
export const SIGN_IN_PATH = '/sign-in'

/** By weak comparison (RFC 9110 section 13.1.2). */
function isKnownToClient(header: string | undefined, { etag }: ConsoleFile): boolean {
  if (header === undefined) return false
  const list = parseEntityTagList(header)
  return list === '*' || list.some(({ value }) => etag === `W/"${value}"`)
}

/** One built file of the operator's page. */
interface ConsoleFile {
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
const INDEX = '/index.html'
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

const GZIP = /^gzip(?:[ \t]*;[ \t]*q=([\d.]+))?$/i

/**
 * Whether the first entry about gzip in an `Accept-Encoding` allows it (RFC 9110 section 12.5.3). The cost is linear in
 * the length of the header, because anyone can send one without a token.
 */
export function takesGzip(header: string | undefined): boolean {
  for (const coding of (header ?? '').split(',')) {
    const gzip = GZIP.exec(coding.trim())
    if (gzip !== null) return Number(gzip[1] ?? 1) > 0
  }
  return false
}

/**
 * The headers of every response of the private listener. The page loads nothing from other servers, runs no inline
 * code, cannot be framed, and sends no referrer.
 */
export const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'"],
    ...["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
    ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
  ].join('; '),
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/** The first segments of the paths of the operator's page. The page itself decides what it shows there. */
const PAGES: ReadonlySet<string> = new Set([
  ...['events', 'refused', 'replays', 'providers', 'handlers', 'receipts', 'audit', 'sessions', 'sign-in'],
])

export function isConsolePage(path: string): boolean {
  return path === '/' || PAGES.has(path.split('/', 2)[1] ?? '')
}
