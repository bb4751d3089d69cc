import { invalidRequest } from '@oncehook/kernel/error-codes'

/** Encodes the end of a page as an opaque string for the next request. */
export function writeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/**
 * Decodes a cursor created by `writeCursor`. Its parts must have the given types.
 * @throws invalidRequest for anything else
 */
export function readCursor<const Types extends readonly ('string' | 'number')[]>(
  cursor: string,
  types: Types,
): { -readonly [Index in keyof Types]: Types[Index] extends 'string' ? string : number } {
  const parts = decode(cursor)
  const fits =
    Array.isArray(parts) && parts.length === types.length && types.every((type, i) => typeof parts[i] === type)
  if (!fits) throw invalidRequest({}, { message: 'The parameter after is not a valid cursor' })
  return parts as never
}

function decode(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return null
  }
}
