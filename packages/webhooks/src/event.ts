/** The types of event that have an effect; every other type is stored as `unhandled`. */
export type PaymentEventType = 'payment.succeeded' | 'payment.failed'

/** The types of event that have an effect. */
export const PAYMENT_EVENT_TYPES = [
  'payment.succeeded',
  'payment.failed',
] as const satisfies readonly PaymentEventType[]

/** Whether a type is one of those that have an effect. */
export function isPaymentEventType(type: string): type is PaymentEventType {
  return PAYMENT_EVENT_TYPES.some((one) => one === type)
}

/** What an event says about an order. Amounts are integers in minor units; currencies are ISO 4217 codes in capitals. */
export interface PaymentFacts {
  readonly orderId: string
  /** If a body of the provider can have several events: where this one is, as a JSON Pointer (RFC 6901). */
  readonly pointer?: string
  readonly amount?: number
  readonly currency?: string
  /** The time of the event according to the provider, ISO 8601. */
  readonly occurredAt?: string
  /** Set if the amount or the currency is invalid, or missing although it is required: the event fails permanently. */
  readonly unreadable?: 'amount_mismatch' | 'currency_mismatch' | 'amount_missing'
  /** Set if the event has no effect: it is kept as `unhandled`, with this reason. */
  readonly withheld?: 'not_expected' | 'effect_not_allowed' | 'not_paid' | 'ambiguous' | 'unreadable'
}

/** What a delivery reports, in the same form for every provider. */
export interface WebhookEvent {
  /**
   * The provider's id of the event, opaque; a hash of the bytes if it has none. It is unique together with the provider's name.
   */
  readonly id: string
  /** Our name of the type if the provider's name is mapped, otherwise the provider's name. */
  readonly type: string
  /** The id of the object that the event is about; for a payment, the id of the payment. Absent if the object has none. */
  readonly objectId?: string
  readonly facts: PaymentFacts
}

/** Why an event is `unhandled`. */
export type UnhandledReason = 'type_unhandled' | NonNullable<PaymentFacts['withheld']>

/** Why an event is kept without an effect; null if it has one. */
export function unhandledReason({ type, facts }: Pick<WebhookEvent, 'type' | 'facts'>): UnhandledReason | null {
  return facts.withheld ?? (isPaymentEventType(type) ? null : 'type_unhandled')
}
