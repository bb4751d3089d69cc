import { createHash } from 'node:crypto'
import { invalidRequest } from '@oncehook/kernel/http/error-codes'
import { headerLines } from '@oncehook/webhooks/providers'
import canonicalize from 'canonicalize'
import { parseItem } from 'structured-headers'

const BARE = /^[A-Za-z0-9_][A-Za-z0-9._~:+/=-]{0,254}$/

/**
 * The Idempotency-Key of a request, or null without one (draft-ietf-httpapi-idempotency-key-header-07): a structured
 * string of 1 to 255 characters, or the bare form that many clients send; `"k"` and `k` are the same key.
 * @throws invalidRequest for anything else, and for two header lines
 */
export function idempotencyKeyOf(rawHeaders: readonly string[]): string | null {
  const lines = headerLines(rawHeaders, 'idempotency-key')
  const [value] = lines
  if (value === undefined) return null
  const key = lines.length > 1 ? null : readKey(value.trim())
  if (key !== null) return key
  throw invalidRequest(
    {},
    { message: 'Idempotency-Key must be one string of 1 to 255 characters, in double quotes or bare' },
  )
}

function readKey(value: string): string | null {
  if (BARE.test(value)) return value
  if (!value.startsWith('"')) return null
  try {
    const [key] = parseItem(value)
    return typeof key === 'string' && key.length >= 1 && key.length <= 255 ? key : null
  } catch {
    return null
  }
}

/** The parts that identify a request: method, path with sorted query, media type, body in canonical JSON (RFC 8785). */
export interface FingerprintedRequest {
  readonly method: string
  readonly target: string
  readonly mediaType: string
  /** The raw bytes, and what they say if they can be parsed. */
  readonly body: { readonly raw: Buffer; readonly json?: unknown }
}

/** The SHA-256 of a request's meaning, in base64. Whitespace and the order of properties do not matter. */
export function fingerprintOf({ method, target, mediaType, body }: FingerprintedRequest): string {
  const url = new URL(target, 'http://localhost')
  url.searchParams.sort()
  const head = JSON.stringify([method, url.pathname, url.search, mediaType])
  return createHash('sha256').update(`${head}\n`).update(contentOf(body)).digest('base64')
}

/** Half a surrogate pair has no canonical form. No order has one, so the bytes will do. */
function contentOf(body: FingerprintedRequest['body']): string | Buffer {
  if (!('json' in body)) return body.raw
  try {
    return canonicalize(body.json) ?? ''
  } catch {
    return body.raw
  }
}
