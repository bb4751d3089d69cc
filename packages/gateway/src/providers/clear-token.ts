import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Delivery, singleHeader } from './delivery.ts'
import type { Finding } from './scheme.ts'
import { isLive, type LiveSecret } from './signature.ts'

/**
 * The check of a provider that sends the secret itself in a header, named in lower case. It proves only that the sender
 * knows the secret: nothing of the delivery is signed. Of a delivery out of the store the signature is checked that
 * `signWithToken` made.
 */
export function prepareClearToken(
  header: string,
  secrets: readonly LiveSecret[],
): (delivery: Delivery, now: number) => Finding {
  return (delivery, now) => {
    const value = singleHeader(delivery.rawHeaders, header)
    if (!value) return { refused: 'header_missing' }
    const claim = delivery.isStored === true ? readSignature(value, delivery.rawBody) : readToken(value)
    if (claim === null) return { refused: 'header_malformed' }
    const holder = findHolder(secrets, claim, now)
    return holder === null ? { refused: 'signature_mismatch' } : { secretId: holder }
  }
}

/**
 * What is kept of a token that came in clear: the signature that it makes over the body. So an event can be checked again,
 * and who reads the database can send no delivery, unless the token is weak enough to be guessed.
 */
export function signWithToken(token: string, rawBody: Buffer): string {
  return SIGNED + mac(Buffer.from(token, 'latin1'), rawBody).toString('hex')
}

const SIGNED = 'hmac-sha256='
const SIGNATURE = /^hmac-sha256=([0-9a-f]{64})$/

// All are looked at, so that the time taken does not tell which it was.
function findHolder(secrets: readonly LiveSecret[], { sent, expect }: Claim, now: number): string | null {
  let holder: string | null = null
  for (const secret of secrets) {
    if (!isLive(secret, now)) continue
    const equal = timingSafeEqual(sent, expect(secret.key.export()))
    if (equal) holder ??= secret.id
  }
  return holder
}

interface Claim {
  readonly sent: Buffer
  /** What the holder of a secret would have sent. */
  readonly expect: (secret: Buffer) => Buffer
}

function readSignature(value: string, rawBody: Buffer): Claim | null {
  const [, signature] = SIGNATURE.exec(value) ?? []
  return signature === undefined
    ? null
    : { sent: Buffer.from(signature, 'hex'), expect: (secret) => mac(secret, rawBody) }
}

function readToken(value: string): Claim {
  return { sent: digestOf(Buffer.from(value, 'latin1')), expect: digestOf }
}

// Of equal length for every token, so that the time taken tells not even the length.
function digestOf(token: Buffer): Buffer {
  return mac('clear token', token)
}

function mac(key: Buffer | string, bytes: Buffer): Buffer {
  return createHmac('sha256', key).update(bytes).digest()
}
