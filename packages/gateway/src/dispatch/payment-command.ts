import type { PaymentEventType } from '@oncehook/webhooks/event'
import { ObjectId } from 'mongodb'
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

/**
 * Turns a claimed event into the command of the given type. It takes the known facts one by one: what another release has
 * stored beside them stays out. An event without a time has the time of its receipt, the same at every attempt.
 */
export function toPaymentCommand({ _id, provider, event }: Claim, type: PaymentEventType): Handled {
  const { orderId, amount, currency, occurredAt, unreadable } = event.facts
  if (unreadable !== undefined) return { refused: unreadable }
  const at = occurredAt ?? timeOfReceipt(_id)
  return {
    command: {
      ...{ provider, eventId: event.id, type, paymentId: event.objectId, orderId },
      ...(amount === undefined ? {} : { amount }),
      ...(currency === undefined ? {} : { currency }),
      ...(at === undefined ? {} : { occurredAt: at }),
    },
  }
}

/** None in the id of a record that was imported as a text. */
function timeOfReceipt(id: unknown): string | undefined {
  return id instanceof ObjectId ? id.getTimestamp().toISOString() : undefined
}
