/** A payment event, independent of the format of a scheme. */
export interface PaymentEvent {
  readonly id: string
  /** `payment.succeeded`, `payment.failed`, or any other name, which is sent unchanged. */
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

/** The names of a scheme for the two types that change an order. */
export interface PaymentTypes {
  readonly succeeded: string
  readonly failed: string
}

/** The names for schemes that define none. */
export const plainTypes: PaymentTypes = { succeeded: 'payment.succeeded', failed: 'payment.failed' }

/** The name of a type in a scheme: the scheme's own name for the two plain types; any other type is unchanged. */
export function toSchemeType(types: PaymentTypes, type: string): string {
  if (type === plainTypes.succeeded) return types.succeeded
  if (type === plainTypes.failed) return types.failed
  return type
}

/** The body for schemes that define no format: `{id, type, data: {object: {id, orderId, amount, currency}}}`. */
export function writePlainEvent(event: PaymentEvent): Uint8Array {
  const { id, type, paymentId, orderId, amount, currency } = event
  return Buffer.from(JSON.stringify({ id, type, data: { object: { id: paymentId, orderId, amount, currency } } }))
}
