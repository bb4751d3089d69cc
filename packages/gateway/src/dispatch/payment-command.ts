import type { PaymentEventType } from '@oncehook/webhooks/providers'
import { ObjectId } from 'mongodb'
import type { Claim } from '../inbox/claims/claim.ts'

/** The request to fulfilment for one event. The expected version is added when the batch is sent. */
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

/** The command for a claimed event, or the reason why there is none. */
export type Handled = { readonly command: PaymentCommand } | { readonly refused: string }

/** Handles one type of event. Pure: the effect happens in fulfilment. */
export type Handler = (claim: Claim) => Handled

/**
 * Turns a claimed event into the command of the given type. It copies the known facts one by one, so that other facts,
 * stored by another release, are left out. An event without a time gets the time of its receipt, which is the same at
 * every attempt. A test event never becomes a command, even if its mark was overlooked before.
 */
export function toPaymentCommand({ _id, provider, event, test }: Claim, type: PaymentEventType): Handled {
  if (test === true) return { refused: 'test_event' }
  const { orderId, amount, currency, occurredAt, unreadable } = event.facts
  if (unreadable !== undefined) return { refused: unreadable }
  const at = occurredAt ?? timeOfReceipt(_id)
  return {
    command: {
      ...{ provider, eventId: event.id, type, paymentId: event.objectId ?? '', orderId },
      ...(amount === undefined ? {} : { amount }),
      ...(currency === undefined ? {} : { currency }),
      ...(at === undefined ? {} : { occurredAt: at }),
    },
  }
}

/** None if the record was imported and its id is text. */
function timeOfReceipt(id: unknown): string | undefined {
  return id instanceof ObjectId ? id.getTimestamp().toISOString() : undefined
}
