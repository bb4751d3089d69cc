import { hash } from 'node:crypto'
import { unauthenticated } from '@oncehook/kernel/error-codes'
import type { TokenHolders } from '../settings.ts'

/**
 * Tells whose bearer token (RFC 6750) a request carries. Tokens are looked up by their hash, so that neither a
 * comparison nor the memory tells anything of them.
 * @throws unauthenticated
 */
export function principalOf(authorization: string | undefined, holders: TokenHolders): string {
  const token = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1]
  const principal = token === undefined ? undefined : holders.get(hash('sha256', token))
  if (principal === undefined) throw unauthenticated({}, { headers: { 'WWW-Authenticate': 'Bearer' } })
  return principal
}
