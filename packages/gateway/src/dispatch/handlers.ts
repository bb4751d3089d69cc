import { type Handler, toPaymentCommand } from './payment-command.ts'

/** The event types that have an effect, each with its handler. Every other type is stored as unhandled. */
export const HANDLERS: ReadonlyMap<string, Handler> = new Map([
  // The order becomes paid, with access and a receipt.
  ['payment.succeeded', (claim) => toPaymentCommand(claim, 'payment.succeeded')],
  // The order gets this status, unless it is already paid.
  ['payment.failed', (claim) => toPaymentCommand(claim, 'payment.failed')],
])

/** Whether an event type has an effect. */
export function isHandled(type: string): boolean {
  return HANDLERS.has(type)
}
