import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Delivery, singleHeader } from './delivery.ts'
import type { Finding } from './scheme.ts'
import { isLive, type LiveSecret } from './signature.ts'

/** The headers in which a provider sends the secret itself, in lower case: they are kept for a replay and never shown. */
export const CLEAR_TOKEN_HEADERS = ['verif-hash', 'x-gitlab-token'] as const

/**
 * The check of a provider that sends the secret itself in a header. It proves only that the sender knows the secret:
 * nothing of the delivery is signed.
 */
export function prepareClearToken(
  header: (typeof CLEAR_TOKEN_HEADERS)[number],
  secrets: readonly LiveSecret[],
): (delivery: Delivery, now: number) => Finding {
  return ({ rawHeaders }, now) => {
    const value = singleHeader(rawHeaders, header)
    if (!value) return { refused: 'header_missing' }
    const sent = digestOf(Buffer.from(value, 'latin1'))
    let holder: string | null = null
    for (const secret of secrets) {
      if (!isLive(secret, now)) continue
      const equal = timingSafeEqual(sent, digestOf(secret.key.export()))
      if (equal) holder ??= secret.id
    }
    return holder === null ? { refused: 'signature_mismatch' } : { secretId: holder }
  }
}

// Of equal length for every token, so that the time taken tells not even the length.
function digestOf(token: Buffer): Buffer {
  return createHmac('sha256', 'clear token').update(token).digest()
}
