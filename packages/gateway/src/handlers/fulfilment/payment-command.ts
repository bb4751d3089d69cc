import type { Claim } from '@oncehook/queue/claim/claim'
import type { PaymentEventType } from '@oncehook/webhooks/providers'
import { ObjectId } from 'mongodb'
import { eventOf } from '../../inbox/event-document.ts'

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

/**
 * Turns a claimed event into the command of the given type. It copies the known facts one by one, so that other facts,
 * stored by another release, are left out. An event without a time gets the time of its receipt, which is the same at
 * every attempt.
 */
export function toPaymentCommand(
  claim: Claim,
  type: PaymentEventType,
): { readonly command: PaymentCommand } | { readonly refused: string } {
  const { _id, provider } = claim
  const event = eventOf(claim)
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

function timeOfReceipt(id: unknown): string | undefined {
  return id instanceof ObjectId ? id.getTimestamp().toISOString() : undefined
}
