import type { PaymentEvent, PaymentTypes } from './payment-event.ts'

export type HeaderLine = readonly [name: string, value: string]

/** The settings of a provider, named as in the gateway's `PROVIDERS`. A signer ignores unknown ones. */
export type SigningSettings = Readonly<Record<string, unknown>>

export interface SigningRequest {
  /** The exact bytes that will be sent. */
  readonly body: Uint8Array
  /** As shown by the provider, including its prefix. */
  readonly secret: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** For schemes with the event id in a header. */
  readonly eventId?: string
  readonly settings?: SigningSettings
}

/** The sender's side of a scheme. */
export interface Signer {
  /** The event types of a successful and a failed payment. */
  readonly types: PaymentTypes
  /** True if the provider has no secret, and the gateway relies only on its API. */
  readonly signsNothing?: true
  /** True if the provider signs with a private key, of which a receiver has the public half only. */
  readonly needsPrivateKey?: true
  /** The settings that `sign` reads. */
  readonly settings: readonly string[]
  /** The media type of the bodies, if not JSON. */
  readonly contentType?: string
  /** The gateway settings that map events to payments, for schemes without payments or orders. */
  readonly mapping?: SigningSettings
  /** The body in the scheme's format. The same event gives the same bytes. */
  writeEvent(event: PaymentEvent): Uint8Array
  /** Support for several events in one delivery. */
  readonly batch?: EventBatch
  /** The payment id, for providers with a fixed id format. The same payment gives the same id. */
  paymentIdOf?(event: Pick<PaymentEvent, 'paymentId' | 'orderId'>): string
  /** @throws SigningError if the secret, the id or a setting is not valid for the scheme */
  sign(request: SigningRequest): HeaderLine[]
  /** For schemes with the signature in the body: adds it. @throws SigningError */
  readonly seal?: Seal
  /** The query of the URL, without the question mark, for schemes that sign one. @throws SigningError */
  query?(request: SigningRequest): string
  /** The provider API's answer about the payment, for schemes that sign too little. */
  describeObject?(event: PaymentEvent): ApiObject
}

/** Writes several events into one body. */
interface EventBatch {
  /** The maximum number of events. The gateway refuses more. */
  readonly most: number
  /** The body in the scheme's format, for at least one event. The same events give the same bytes. */
  writeEvents(events: readonly PaymentEvent[]): Uint8Array
}

/** Puts a signature into a body. */
export interface Seal {
  seal(request: SigningRequest): Uint8Array
  /** The offset of a signed byte in each item of a body, sealed or not. */
  signedOffsets(body: Uint8Array): readonly number[]
}

/** An object of a provider's API. */
export interface ApiObject {
  /** Relative to the base URL, with a leading slash. */
  readonly path: string
  readonly body: object
}

/** The parts of a request, except the URL. */
export interface SignedDelivery {
  readonly headers: readonly HeaderLine[]
  readonly body: Uint8Array
  /** Without the question mark; empty if there is none. */
  readonly query: string
  readonly contentType: string
}

/** @throws SigningError */
export function signDelivery(signer: Signer, request: SigningRequest): SignedDelivery {
  const body = signer.seal?.seal(request) ?? request.body
  const contentType = isJson(body) ? undefined : signer.contentType
  return {
    headers: signer.sign(request),
    body,
    query: signer.query?.(request) ?? '',
    contentType: contentType ?? 'application/json',
  }
}

function isJson(body: Uint8Array): boolean {
  return body[0] === 0x7b || body[0] === 0x5b
}

/** Signing failed. The message names the invalid input, but not its value. */
export class SigningError extends Error {
  override readonly name = 'SigningError'
}

/** @throws SigningError if it is not a string */
export function readTextSetting(settings: SigningSettings | undefined, name: string): string | undefined {
  const value = settings?.[name]
  if (value === undefined || typeof value === 'string') return value
  throw new SigningError(`The setting ${name} must be a string`)
}

/** Unix time in whole seconds, as most schemes sign it. */
export function toSeconds(now: number): string {
  return String(Math.floor(now / 1000))
}
