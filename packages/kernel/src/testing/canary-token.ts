import { randomBytes } from 'node:crypto'

/** Makes a token that no log, answer or record may show. */
export function canaryToken(): string {
  return `canary-${randomBytes(24).toString('hex')}`
}
