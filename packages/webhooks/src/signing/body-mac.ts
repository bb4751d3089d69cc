import { createHmac } from 'node:crypto'
import type { Signer } from './signer.ts'

interface BodyMac {
  readonly header: string
  readonly encoding: 'hex' | 'base64'
  readonly prefix?: string
}

/** Signs the body with HMAC-SHA256. The key is the bytes of the secret. */
export function bodyMac({ header, encoding, prefix = '' }: BodyMac): Signer['sign'] {
  return ({ body, secret }) => [[header, prefix + createHmac('sha256', secret).update(body).digest(encoding)]]
}
