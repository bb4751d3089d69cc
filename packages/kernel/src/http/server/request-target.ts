import type { IncomingMessage } from 'node:http'
import { badRequest, uriTooLong } from '../error-codes.ts'
import type { AppError } from '../errors.ts'

/** Default limit for the request target in bytes. RFC 9112 section 3 requires at least 8,000. */
export const MAX_TARGET_BYTES = 8_192

// RFC 3986 section 3.2.2: a registered name, an IPv4 address or a bracketed IP literal, with an optional port.
const AUTHORITY = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d{0,5})?$/
const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/i
const ORIGIN = /^\/[\x21\x22\x24-\x7e]*$/
const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/

/**
 * Whether a text is a valid Host value. A comma is allowed, because a name may contain one. A repeated Host header
 * also looks like this.
 */
export function isHost(value: string): boolean {
  return AUTHORITY.test(value) && !value.includes(',')
}

/**
 * Parses a request target (RFC 9112 section 3) to a path with query, or `*` for OPTIONS. The host of the absolute
 * form is dropped, because this server has one site. Escaped letters, digits and `-._~` in the path are decoded, so
 * that equivalent paths (RFC 3986 section 6.2.2.2) become equal strings. A path whose escapes are not UTF-8 is
 * refused, because no resource has such a name.
 */
export function readTarget({ url = '', method }: IncomingMessage, maxBytes: number): string | AppError {
  if (url.length > maxBytes) return uriTooLong()
  const target = withoutHost(url, method)
  if (target === '*' && method === 'OPTIONS') return target
  if (target === null || !ORIGIN.test(target) || BROKEN_ESCAPE.test(target)) return badRequest({ reason: 'target' })
  const query = target.indexOf('?')
  const path = plain(query === -1 ? target : target.slice(0, query))
  if (path === null) return badRequest({ reason: 'target' })
  return query === -1 ? path : path + target.slice(query)
}

function withoutHost(url: string, method: string | undefined): string | null {
  if (url.startsWith('/') || url === '*') return url
  const [, host, rest = ''] = ABSOLUTE.exec(url) ?? []
  if (host === undefined || !isHost(host) || host.startsWith(':')) return null
  if (rest === '') return method === 'OPTIONS' ? '*' : '/'
  return rest.startsWith('/') ? rest : `/${rest}`
}

const ESCAPE = /%[0-9A-Fa-f]{2}/g
const UNRESERVED = /[A-Za-z0-9._~-]/

/** Null if the escapes are not UTF-8. */
function plain(path: string): string | null {
  if (!path.includes('%')) return path
  if (!isUtf8(path)) return null
  return path.replace(ESCAPE, (sequence) => {
    const character = String.fromCharCode(Number.parseInt(sequence.slice(1), 16))
    return UNRESERVED.test(character) ? character : sequence
  })
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
