import type { Delivery, VerifiedDelivery } from './delivery.ts'
import type { ExplainRefusal } from './explanation.ts'
import type { Refusal } from './refusal.ts'
import type {
  AnswerCheck,
  AnswerHandshake,
  CheckResult,
  CheckSignature,
  ConfirmEvent,
  ReadEvents,
} from './schemes/scheme.ts'
import type { LiveSecret } from './signatures/signature.ts'

/** A configured provider, ready to verify deliveries. */
export interface Provider {
  readonly name: string
  readonly scheme: string
  readonly maxBytes: number
  /** The secrets by name, never by value. `notAfter` in milliseconds. */
  readonly secrets: readonly Pick<LiveSecret, 'id' | 'notAfter' | 'isPublic'>[]
  /** Whether the signature covers a time. If not, a captured delivery stays valid forever, so its event id must be kept. */
  readonly signsTime: boolean
  /** How long the provider may redeliver an event, in milliseconds after the first delivery. */
  readonly redeliveryMs: number
  /** The properties (JSON Pointers) that name the mode or the account and that its settings do not mention. */
  readonly unsaidOrigin: readonly string[]
  /** The types that its settings map to a success without saying whether an amount is required. */
  readonly unsureAmounts: readonly string[]
  /** The headers that are needed to check a signature, in lower case. */
  readonly signedHeaders: readonly string[]
  /** More headers that the signature of this delivery covers; absent if they are the same for every delivery. */
  readonly coveredHeaders?: (delivery: Delivery) => readonly string[]
  /** The header that contains the secret itself, if there is one. */
  readonly staticTokenHeader?: string
  /** Whether the query is stored. */
  readonly usesQuery: boolean
  /** Whether the signature is in the body, so that no header shows it. */
  readonly signsInBody: boolean
  readonly takesForms: boolean
  /**
   * Verifies a delivery at `now` (milliseconds). Returns a promise only if something has to be fetched, with `fetch`; the
   * promise rejects only with `unavailable`.
   */
  verify(
    delivery: Delivery,
    now: number,
    fetch: typeof globalThis.fetch,
  ): VerificationResult | Promise<VerificationResult>
  /** Says why a delivery that is not authentic was refused. It asks nobody and checks the signature at most twice. */
  readonly explain: ExplainRefusal
  readonly readEvents: ReadEvents
  /** Whether `readEvents` refuses a delivery that it cannot read. Otherwise it makes an event without an effect of it. */
  readonly refusesUnreadable: boolean
  /** The answer to a handshake; null for an ordinary delivery. */
  readonly answerHandshake: AnswerHandshake
  /** The answer to the GET with which the provider checks this endpoint; absent if it does not check. */
  readonly answerCheck?: AnswerCheck
  /** Asks the provider to confirm an event whose signature proves too little; absent if signatures are enough. */
  readonly confirm?: ConfirmEvent
}

/** An authentic delivery, or the reason why it is not authentic. */
type VerificationResult = VerifiedDelivery | { readonly refused: Refusal }

/** Creates `verify` from the check of a scheme: a delivery that it accepts becomes a verified delivery. */
export function verifyWith(check: CheckSignature): Provider['verify'] {
  return (delivery, now, fetch) => {
    const result = check(delivery, now, fetch)
    return result instanceof Promise
      ? result.then((found) => toVerificationResult(delivery, found))
      : toVerificationResult(delivery, result)
  }
}

function toVerificationResult(delivery: Delivery, result: CheckResult): VerificationResult {
  if ('refused' in result) return result
  const { rawBody, rawHeaders, query } = delivery
  const { secretId, signedId, transmission, refusedItems } = result
  const verified =
    signedId === undefined
      ? { rawBody, rawHeaders, query, secretId }
      : { rawBody, rawHeaders, query, secretId, signedId }
  if (refusedItems !== undefined) return { ...verified, refusedItems } as VerifiedDelivery
  return (transmission === undefined ? verified : { ...verified, transmission }) as VerifiedDelivery
}
