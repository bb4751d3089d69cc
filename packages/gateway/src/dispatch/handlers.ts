import { onPaymentFailed } from './on-payment-failed.ts'
import { onPaymentSucceeded } from './on-payment-succeeded.ts'
import type { Handler } from './payment-command.ts'

/** The event types that have an effect, each with its handler. Every other type is stored as unhandled. */
export const HANDLERS: ReadonlyMap<string, Handler> = new Map([
  ['payment.succeeded', onPaymentSucceeded],
  ['payment.failed', onPaymentFailed],
])

/** Whether an event type has an effect. */
export function isHandled(type: string): boolean {
  return HANDLERS.has(type)
}
