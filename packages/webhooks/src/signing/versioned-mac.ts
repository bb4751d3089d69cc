import { createHmac } from 'node:crypto'
import { type Signer, toSeconds } from './signer.ts'

/** Signs as Slack and Zoom do: HMAC-SHA256 in hexadecimal over `v0:`, time, colon and body, after `v0=`. */
export function signVersioned(signatureHeader: string, timestampHeader: string): Signer['sign'] {
  return ({ body, secret, now }) => {
    const time = toSeconds(now)
    const signature = createHmac('sha256', secret).update(`v0:${time}:`).update(body).digest('hex')
    return [
      [signatureHeader, `v0=${signature}`],
      [timestampHeader, time],
    ]
  }
}
