import { Webhook } from 'standardwebhooks'

/** The secret of the tests. */
export const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`

/** A delivery of an event, before it is signed. */
export interface Sent {
  readonly key: string
  readonly type?: string
  readonly data?: unknown
  readonly timestamp?: string
}

/** A request as a sender with the official library of Standard Webhooks makes it. */
export function signedRequest(
  { key, type = 'invoice.paid', data = {}, timestamp = '2026-11-01T12:00:00Z' }: Sent,
  url = 'http://127.0.0.1/webhooks',
): Request {
  const body = JSON.stringify({ type, timestamp, data })
  return new Request(url, { method: 'POST', headers: signedHeaders(key, body), body })
}

export function signedHeaders(key: string, body: string): Record<string, string> {
  const at = new Date()
  return {
    'content-type': 'application/json',
    'webhook-id': key,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(SECRET).sign(key, at, body),
  }
}
