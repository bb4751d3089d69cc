/** What a payment provider has to tell, before a scheme gives it its own shape. */
export interface PaymentEvent {
  readonly id: string
  /** `payment.succeeded`, `payment.failed`, or any other name, which is sent as it is. */
  readonly type: string
  readonly paymentId: string
  readonly orderId: string
  /** Minor units. */
  readonly amount: number
  /** ISO 4217, upper case. */
  readonly currency: string
  /** Milliseconds since 1970. */
  readonly occurredAt: number
}

/** The two types that change an order, by the names that one scheme gives them. */
export interface PaymentTypes {
  readonly succeeded: string
  readonly failed: string
}

/** The names that a scheme without names of its own uses. */
export const plainTypes: PaymentTypes = { succeeded: 'payment.succeeded', failed: 'payment.failed' }

/** The name a scheme gives to a type: its own for the two plain ones, any other unchanged. */
export function toSchemeType(types: PaymentTypes, type: string): string {
  if (type === plainTypes.succeeded) return types.succeeded
  if (type === plainTypes.failed) return types.failed
  return type
}

/** The body of a scheme that has no shape of its own: `{id, type, data: {object: {id, orderId, amount, currency}}}`. */
export function writePlainEvent(event: PaymentEvent): Uint8Array {
  const { id, type, paymentId, orderId, amount, currency } = event
  return Buffer.from(JSON.stringify({ id, type, data: { object: { id: paymentId, orderId, amount, currency } } }))
}
