import { isUtf8 } from 'node:buffer'
import { UsageError } from '../exit-code.ts'

/** A request for curl, with the body in a file or inline. */
export interface CurlRequest {
  readonly url: string
  /** `name: value` each. */
  readonly headers: readonly string[]
  readonly file?: string
  readonly body?: Buffer
}

/**
 * A POSIX shell command that posts exactly these bytes.
 * @throws UsageError if there is no file, and the body cannot be part of a command line
 */
export function toCurlCommand({ url, headers, file, body = Buffer.alloc(0) }: CurlRequest): string {
  const lines = ['curl --silent --show-error --include', ...headers.map((header) => `--header ${quote(header)}`)]
  if (file !== undefined) return [...lines, `--data-binary ${quote(`@${file}`)}`, quote(url)].join(' \\\n  ')
  if (!isUtf8(body) || body.includes(0)) throw new UsageError('The body is not text: with --curl, pass it as a file')
  // Unlike --data and --data-binary, --data-raw does not treat a leading @ as a file name.
  return [...lines, `--data-raw ${quote(body.toString())}`, quote(url)].join(' \\\n  ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
