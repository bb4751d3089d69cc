import { notAcceptable } from '@oncehook/kernel/http/error-codes'
import type { Context } from 'koa'

const RANGE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+$/

/**
 * Returns the quality (0 to 1) of a media type, by the most specific matching range of an Accept header (RFC 9110 section
 * 12.5.1). It is 0 if no range matches, and 1 if the header contains no valid range.
 *
 * Own code, because `accepts` returns no quality, which decides between JSON and a problem document, and because it
 * rejects a header without a valid range.
 */
export function qualityOf(accept: string | undefined, type: string): number {
  const qualities = new Map<string, number>()
  for (const part of (accept ?? '').toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    if (RANGE.test(range)) qualities.set(range, weight === undefined ? 1 : Number(weight) || 0)
  }
  if (qualities.size === 0) return 1
  const closest = [type, type.replace(/\/.*/, '/*'), '*/*'].find((range) => qualities.has(range))
  return closest === undefined ? 0 : (qualities.get(closest) ?? 0)
}

/**
 * Rejects a request whose Accept header excludes JSON.
 * @throws notAcceptable
 */
export function refuseUnwanted(ctx: Context): void {
  if (qualityOf(ctx.req.headers.accept, 'application/json') === 0) throw notAcceptable()
}
