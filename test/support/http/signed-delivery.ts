import { standardWebhooks } from '@oncehook/webhooks/signing/generic/standard-webhooks'
import type { RawRequest } from './raw-request.ts'

/** What is delivered and how it is signed, by Standard Webhooks. */
export interface SignedDelivery {
  readonly body: Uint8Array
  readonly secret: string
  /** The id in the signed header; the event's own id is in the body. */
  readonly messageId?: string
  /** Milliseconds; now unless said otherwise. */
  readonly signedAt?: number
  /** The bytes that are signed, if they differ from those that are sent. */
  readonly signedBody?: Uint8Array
  readonly contentType?: string
}

type HeaderLine = readonly [name: string, value: string]

/** A delivery to the provider acme that is valid in every way. The test changes it from there. */
export function signedDelivery(delivery: SignedDelivery): RawRequest & { readonly headers: readonly HeaderLine[] } {
  const { body, secret, messageId = 'msg_1', signedAt = Date.now(), signedBody = body } = delivery
  const signature = standardWebhooks.sign({ body: signedBody, secret, now: signedAt, eventId: messageId })
  const contentType = delivery.contentType ?? 'application/json'
  return { path: '/api/webhooks/acme', headers: [['content-type', contentType], ...signature], body }
}

/** The same request with this header replaced; null removes it. */
export function withHeader(request: RawRequest, name: string, value: string | null): RawRequest {
  const others = (request.headers ?? []).filter(([present]) => present.toLowerCase() !== name)
  return { ...request, headers: value === null ? others : [...others, [name, value]] }
}

/** The value of a header of a request. */
export function headerOf({ headers = [] }: RawRequest, name: string): string {
  return headers.find(([present]) => present === name)?.[1] ?? ''
}
