import type { PaymentEvent, PaymentTypes } from '../payment-event.ts'

/** One header line, name and value, as it goes out. */
export type HeaderLine = readonly [name: string, value: string]

/** The settings of one provider, named as in the gateway's own `PROVIDERS`; a signer ignores those it does not know. */
export type SigningSettings = Readonly<Record<string, unknown>>

/** What is to be signed, with what, and when. */
export interface SigningRequest {
  /** The exact bytes that will be sent. */
  readonly body: Uint8Array
  /** As the provider shows it to its customer, prefix included. */
  readonly secret: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** For the schemes that carry the id of the event in a header. */
  readonly eventId?: string
  readonly settings?: SigningSettings
}

/** One scheme, seen from the sender's side. */
export interface Signer {
  /** What the scheme calls a payment that succeeded and one that failed. */
  readonly types: PaymentTypes
  /** The provider has no secret: only what its API says counts. */
  readonly signsNothing?: true
  /** The settings that `sign` reads. */
  readonly settings: readonly string[]
  /** The media type of its bodies that are not JSON. */
  readonly contentType?: string
  /** What the gateway's settings have to say before an event counts, for a scheme that knows no payments or no orders. */
  readonly mapping?: SigningSettings
  /** The body in the scheme's own shape: the same event gives the same bytes. */
  writeEvent(event: PaymentEvent): Uint8Array
  /** Several events in one delivery, for a scheme whose provider sends them so. */
  readonly batch?: EventBatch
  /** What the provider calls the payment, where that cannot be any text; the same for the same payment. */
  paymentIdOf?(event: Pick<PaymentEvent, 'paymentId' | 'orderId'>): string
  /**
   * The header lines that prove the body.
   * @throws SigningError when the secret, the id or a setting is not one the scheme can sign with
   */
  sign(request: SigningRequest): HeaderLine[]
  /** For a scheme whose signature stands in the body: the body with it. @throws SigningError */
  readonly seal?: Seal
  /** The query that belongs to the address, without the question mark, for a scheme that signs one. @throws SigningError */
  query?(request: SigningRequest): string
  /** What the provider's API says when it is asked about the payment, for a scheme that signs too little. */
  describeObject?(event: PaymentEvent): ApiObject
}

/** How several events get into one body. */
interface EventBatch {
  /** The gateway refuses a delivery with more events. */
  readonly most: number
  /** The body in the scheme's own shape, for at least one event: the same events give the same bytes. */
  writeEvents(events: readonly PaymentEvent[]): Uint8Array
}

/** How a signature gets into a body. */
export interface Seal {
  seal(request: SigningRequest): Uint8Array
  /** Where in a body, sealed or not, a byte stands that is signed. */
  signedOffset(body: Uint8Array): number
}

/** An object of a provider's API. */
export interface ApiObject {
  /** Below the base address, with a slash at its beginning. */
  readonly path: string
  readonly body: object
}

/** What goes on the wire, beside the address. */
export interface SignedDelivery {
  readonly headers: readonly HeaderLine[]
  readonly body: Uint8Array
  /** Without the question mark; empty where there is none. */
  readonly query: string
  readonly contentType: string
}

/**
 * Everything that a delivery of these bytes is made of.
 * @throws SigningError
 */
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

/** Nothing could be signed: the message names what is wrong, never its value. */
export class SigningError extends Error {
  override readonly name = 'SigningError'
}

/**
 * A setting that is a text, or undefined when it is not set.
 * @throws SigningError when it is anything else
 */
export function readTextSetting(settings: SigningSettings | undefined, name: string): string | undefined {
  const value = settings?.[name]
  if (value === undefined || typeof value === 'string') return value
  throw new SigningError(`The setting ${name} must be a text`)
}

/** Unix time in whole seconds, the unit most schemes sign. */
export function toSeconds(now: number): string {
  return String(Math.floor(now / 1000))
}
