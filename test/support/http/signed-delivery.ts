import { standardWebhooks } from '@oncehook/webhooks/signing/generic/standard-webhooks'
import type { RawRequest } from './raw-request.ts'

type HeaderLine = readonly [name: string, value: string]

/** What is delivered. */
export interface SignedDelivery {
  readonly body: Uint8Array
  readonly secret: string
  /** The id in the signed header; the event's own id is in the body. */
  readonly messageId?: string
}

/** A delivery to the provider acme that is valid in every way, signed by Standard Webhooks. */
export function signedDelivery(delivery: SignedDelivery): RawRequest & { readonly headers: readonly HeaderLine[] } {
  const { body, secret, messageId = 'msg_1' } = delivery
  const signature = standardWebhooks.sign({ body, secret, now: Date.now(), eventId: messageId })
  return { path: '/api/webhooks/acme', headers: [['content-type', 'application/json'], ...signature], body }
}

/** The same request with this header replaced. */
export function withHeader(request: RawRequest, name: string, value: string): RawRequest {
  const others = (request.headers ?? []).filter(([present]) => present.toLowerCase() !== name)
  return { ...request, headers: [...others, [name, value]] }
}
