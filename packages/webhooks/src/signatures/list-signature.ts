import { singleHeader } from '../delivery.ts'
import type { SignatureParts } from './body-signature.ts'
import { readTextKey } from './read-key.ts'
import { checkTimedHmac } from './signature.ts'

/** How one header carries a timestamp and one or more HMAC-SHA256 over it and the body, such as `t=1760000000,v1=…`. */
interface ListSignature {
  readonly header: string
  readonly separator: ',' | ';'
  /** The name of the timestamp. */
  readonly time: string
  /** The name of a signature: lower-case hexadecimal digits. Other names are ignored. */
  readonly signature: string
  /** The signed text between the timestamp and the body. */
  readonly between: string
}

/** The parts of every scheme with such a header. The text of the secret is the key. */
export function listSignature({ header, separator, time, signature, between }: ListSignature): SignatureParts {
  return {
    readKey: readTextKey,
    signedHeaders: () => [header],
    signsTime: () => true,
    prepare({ toleranceSeconds }, secrets) {
      return ({ rawHeaders, rawBody }, now) => {
        const value = singleHeader(rawHeaders, header)
        if (!value) return { refused: 'header_missing' }
        const pairs = { header: value, separator }
        const timestamp = onlyValueOf(pairs, time)
        if (timestamp === undefined) return { refused: 'header_malformed' }
        const signed = [`${timestamp}${between}`, rawBody]
        const signatures = valuesOf(pairs, signature)
        return checkTimedHmac({ timestamp, signatures, signed, secrets, toleranceSeconds, now })
      }
    },
  }
}

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

export function hasKey(pairs: KeyValueHeader, name: string): boolean {
  return findPair(pairs, name, 0) !== -1
}

/** The values of a name. A value begins after the first equals sign of a pair. */
export function valuesOf(pairs: KeyValueHeader, name: string): string[] {
  const found: string[] = []
  for (let start = findPair(pairs, name, 0); start !== -1; ) {
    const end = endOf(pairs, start)
    found.push(pairs.header.slice(start + name.length + 1, end))
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
