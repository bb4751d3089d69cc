import { onPaymentFailed } from './on-payment-failed.ts'
import { onPaymentSucceeded } from './on-payment-succeeded.ts'
import type { Handler } from './payment-command.ts'

/** The types of event that have an effect, each with its handler; every other type is stored as unhandled. */
export const HANDLERS: ReadonlyMap<string, Handler> = new Map([
  ['payment.succeeded', onPaymentSucceeded],
  ['payment.failed', onPaymentFailed],
])

/** Whether a type of event has an effect. */
export function isHandled(type: string): boolean {
  return HANDLERS.has(type)
}
