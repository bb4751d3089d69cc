import { hash } from 'node:crypto'
import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import type { TokenHolder, TokenHolders } from '../../token-holders.ts'

/** The challenge of a 401: how to authenticate (RFC 6750 section 3). */
export const CHALLENGE = { headers: { 'WWW-Authenticate': 'Bearer' } }

/**
 * Finds the holder of a request's bearer token (RFC 6750). Tokens are looked up by their hash, so that neither a comparison
 * nor the memory reveals anything about them.
 * @throws unauthenticated, the same for every reason; the reason is in the details, for the log
 */
export function holderOf<Grant>(
  authorization: string | undefined,
  { holders, now }: { readonly holders: TokenHolders<Grant>; readonly now: number },
): TokenHolder<Grant> {
  const token = bearerToken(authorization)
  if (token === null) throw unauthenticated({ reason: 'missing' }, CHALLENGE)
  const holder = holders.get(hash('sha256', token))
  if (holder === undefined) throw unauthenticated({ reason: 'unknown' }, CHALLENGE)
  if (holder.notAfter !== null && holder.notAfter <= now) {
    throw unauthenticated({ reason: 'expired', principal: holder.name }, CHALLENGE)
  }
  return holder
}

/** The bearer token (RFC 6750) in an `Authorization` header; null if there is none. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1] ?? null
}
