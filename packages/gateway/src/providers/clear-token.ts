import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Delivery, singleHeader } from './delivery.ts'
import type { Finding } from './scheme.ts'
import { isLive, type LiveSecret } from './signature.ts'

/**
 * The check of a provider that sends the secret itself in a header. It proves only that the sender knows the secret:
 * nothing of the delivery is signed.
 */
export function prepareClearToken(
  header: string,
  secrets: readonly LiveSecret[],
): (delivery: Delivery, now: number) => Finding {
  return (delivery, now) => {
    const value = singleHeader(delivery.rawHeaders, header)
    if (!value) return { refused: 'header_missing' }
    const { sent, expect } = readToken(value, delivery)
    let holder: string | null = null
    for (const secret of secrets) {
      if (!isLive(secret, now)) continue
      const equal = timingSafeEqual(sent, expect(secret.key.export()))
      if (equal) holder ??= secret.id
    }
    return holder === null ? { refused: 'signature_mismatch' } : { secretId: holder }
  }
}

/**
 * What is kept of a token that came in clear: the signature that it makes over the body. So an event can be checked again,
 * and who reads the database learns no secret by which deliveries could be sent.
 */
export function signWithToken(token: string, rawBody: Buffer): string {
  return SIGNED + mac(Buffer.from(token, 'latin1'), rawBody).toString('hex')
}

const SIGNED = 'hmac-sha256='
const SIGNATURE = /^hmac-sha256=([0-9a-f]{64})$/

interface ReadToken {
  readonly sent: Buffer
  /** What a secret would have sent. */
  readonly expect: (secret: Buffer) => Buffer
}

function readToken(value: string, { rawBody, isStored }: Delivery): ReadToken {
  const [, signature] = (isStored === true ? SIGNATURE.exec(value) : null) ?? []
  return signature === undefined
    ? { sent: digestOf(Buffer.from(value, 'latin1')), expect: digestOf }
    : { sent: Buffer.from(signature, 'hex'), expect: (secret) => mac(secret, rawBody) }
}

// Of equal length for every token, so that the time taken tells not even the length.
function digestOf(token: Buffer): Buffer {
  return mac('clear token', token)
}

function mac(key: Buffer | string, bytes: Buffer): Buffer {
  return createHmac('sha256', key).update(bytes).digest()
}
