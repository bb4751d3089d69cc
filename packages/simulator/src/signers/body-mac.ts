import { createHmac } from 'node:crypto'
import type { Signer } from './signer.ts'

interface BodyMac {
  readonly header: string
  readonly encoding: 'hex' | 'base64'
  readonly prefix?: string
}

/** Signs as the many who take HMAC-SHA256 of the body and nothing else, the key being the secret's own bytes. */
export function bodyMac({ header, encoding, prefix = '' }: BodyMac): Signer['sign'] {
  return ({ body, secret }) => [[header, prefix + createHmac('sha256', secret).update(body).digest(encoding)]]
}
