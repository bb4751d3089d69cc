import { decodeHex } from './signature.ts'

/** A header such as `t=1760000000,v1=…`, read by names. Spaces are part of a name or value. */
export interface KeyValueHeader {
  readonly header: string
  readonly separator: string
}

const EQUALS = '='.charCodeAt(0)

/** The start of the next pair with this name, from `at`, the start of a pair; -1 if there is none. */
function findPair({ header, separator }: KeyValueHeader, name: string, at: number): number {
  for (let start = at; start <= header.length; ) {
    const behind = start + name.length
    if (header.startsWith(name, start)) {
      // A pair without an equals sign is only a name.
      if (behind === header.length || header.charCodeAt(behind) === EQUALS || header[behind] === separator) return start
    }
    const end = header.indexOf(separator, start)
    if (end === -1) return -1
    start = end + 1
  }
  return -1
}

function endOf({ header, separator }: KeyValueHeader, start: number): number {
  const end = header.indexOf(separator, start)
  return end === -1 ? header.length : end
}

/** Whether a pair has this name. */
export function hasKey(pairs: KeyValueHeader, name: string): boolean {
  return findPair(pairs, name, 0) !== -1
}

/**
 * The values of a name that are lower-case hexadecimal digits, as bytes; others are ignored. A value begins after the first
 * equals sign of a pair.
 */
export function bytesOf(pairs: KeyValueHeader, name: string): Buffer[] {
  const found: Buffer[] = []
  for (let start = findPair(pairs, name, 0); start !== -1; ) {
    const end = endOf(pairs, start)
    const bytes = decodeHex(pairs.header.slice(start + name.length + 1, end))
    if (bytes !== null) found.push(bytes)
    start = findPair(pairs, name, end + 1)
  }
  return found
}

/** The value of a name that occurs exactly once; undefined if it is missing or repeated. */
export function onlyValueOf(pairs: KeyValueHeader, name: string): string | undefined {
  const start = findPair(pairs, name, 0)
  if (start === -1) return undefined
  const end = endOf(pairs, start)
  return findPair(pairs, name, end + 1) === -1 ? pairs.header.slice(start + name.length + 1, end) : undefined
}
