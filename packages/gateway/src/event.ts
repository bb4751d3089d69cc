/** The types of event that have an effect; every other type is stored as `unhandled`. */
export type PaymentEventType = 'payment.succeeded' | 'payment.failed'

const PAYMENT_EVENT_TYPES: readonly string[] = [
  'payment.succeeded',
  'payment.failed',
] satisfies readonly PaymentEventType[]

/** Whether a type is one of those that have an effect. */
export function isPaymentEventType(type: string): type is PaymentEventType {
  return PAYMENT_EVENT_TYPES.includes(type)
}

/** What an event says about an order. Amounts are integers in minor units, currencies ISO 4217 in capitals. */
export interface PaymentFacts {
  readonly orderId: string
  readonly amount?: number
  readonly currency?: string
  /** When the provider says it happened, ISO 8601. */
  readonly occurredAt?: string
  /** Set where the event names an amount or a currency that can equal none: it is refused for good. */
  readonly unreadable?: 'amount_mismatch' | 'currency_mismatch'
}

/** What a provider tells: the thing that flows from the HTTP edge to fulfilment. */
export interface WebhookEvent {
  /** The provider's own id of the event, opaque; unique together with the provider's name. */
  readonly id: string
  /** Our name of the type where the provider's is mapped, else the provider's own. */
  readonly type: string
  /** The object that the event is about, for a payment the payment's id. */
  readonly objectId: string
  readonly facts: PaymentFacts
}
