import type { PaymentEventType } from '../event.ts'
import type { Claim } from '../inbox/claims.ts'

/** What fulfilment is asked to do for one event; the expected version is added when the batch is sent. */
export interface PaymentCommand {
  readonly provider: string
  readonly eventId: string
  readonly type: PaymentEventType
  readonly paymentId: string
  readonly orderId: string
  readonly amount?: number
  readonly currency?: string
  readonly occurredAt?: string
}

/** The command for a claimed event, or the reason why there can be none. */
export type Handled = { readonly command: PaymentCommand } | { readonly refused: string }

/** What is done for a type of event. Pure: the effect is fulfilment's. */
export type Handler = (claim: Claim) => Handled

/** Turns a claimed event into the command of the given type. */
export function toPaymentCommand(claim: Claim, type: PaymentEventType): Handled {
  const { unreadable, ...facts } = claim.event.facts
  if (unreadable !== undefined) return { refused: unreadable }
  const { provider, event } = claim
  return { command: { provider, eventId: event.id, type, paymentId: event.objectId, ...facts } }
}
