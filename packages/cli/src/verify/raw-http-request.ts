import { UsageError } from '../exit-code.ts'

/** The parts of a request in a file, not decoded. */
export interface RawHttpRequest {
  /** The target in the request line, or null without a request line. */
  readonly target: string | null
  /** Names and values alternately, one character per byte. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

/**
 * Parses an HTTP/1.1 request (RFC 9112). The request line may be missing.
 * @throws UsageError if it is not a request, or if its body does not match its headers
 */
export function readRawHttpRequest(bytes: Buffer): RawHttpRequest {
  const { end, next } = findEmptyLine(bytes)
  const lines = bytes.subarray(0, end).toString('latin1').split(/\r?\n/)
  const [, target] = /^[A-Z]+ (\S+)(?: HTTP\/\d(?:\.\d)?)?$/.exec(lines[0] ?? '') ?? []
  const rawHeaders = lines.slice(target === undefined ? 0 : 1).flatMap(readHeaderLine)
  return { target: target ?? null, rawHeaders, body: cutBody(bytes.subarray(next), rawHeaders) }
}

function findEmptyLine(bytes: Buffer): { end: number; next: number } {
  const found = ['\r\n\r\n', '\n\n']
    .map((line) => ({ end: bytes.indexOf(line), next: bytes.indexOf(line) + line.length }))
    .filter(({ end }) => end !== -1)
    .sort((one, other) => one.end - other.end)[0]
  if (found === undefined)
    throw new UsageError('The file given by --request has no empty line between headers and body')
  return found
}

/**
 * Parses a header line.
 * @throws UsageError if it is invalid
 */
export function readHeaderLine(line: string): [name: string, value: string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/s.exec(line) ?? []
  if (name !== undefined && value !== undefined) return [name, value]
  throw new UsageError('A header line must be `name: value`')
}

/** Editors add a final newline, so Content-Length decides where the body ends. */
function cutBody(rest: Buffer, rawHeaders: readonly string[]): Buffer {
  const lineOf = (name: string): string | undefined => {
    const index = rawHeaders.findIndex((each, at) => at % 2 === 0 && each.toLowerCase() === name)
    return index === -1 ? undefined : rawHeaders[index + 1]
  }
  if (lineOf('transfer-encoding') !== undefined) {
    throw new UsageError('The body in --request is chunked: give the decoded body as a file, and the headers with -H')
  }
  const length = lineOf('content-length')
  if (length === undefined || !/^\d{1,15}$/.test(length)) return rest
  if (rest.length >= Number(length)) return rest.subarray(0, Number(length))
  throw new UsageError(`The body in --request is truncated: ${rest.length} of ${length} bytes`)
}
