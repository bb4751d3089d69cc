import { invalidBody } from '@oncehook/kernel/http/error-codes'
import { eventInvalid } from '../errors.ts'
import type { WebhookEvent } from '../event.ts'
import type { AnswerHandshake, ReadEvents } from '../schemes/scheme.ts'
import { idOfBytes } from './id-of-bytes.ts'

/**
 * Never refuses what is authentic: a delivery that `read` cannot read becomes one event without an effect. Refused, it would
 * come again for days, until the provider switches the endpoint off, with all payments. If the signature covers only a checksum,
 * the body may be another one, so it is refused.
 */
export function readAnything(read: ReadEvents): ReadEvents {
  return (delivery) => {
    try {
      return read(delivery)
    } catch (error) {
      if (!isUnreadable(error) || delivery.transmission !== undefined) throw error
      return [unreadableEvent({ id: idOfBytes(delivery.rawBody) })]
    }
  }
}

/** Treats what only looks like a handshake as an ordinary delivery. */
export function answerOnlyHandshakes(answer: AnswerHandshake): AnswerHandshake {
  return (delivery) => {
    try {
      return answer(delivery)
    } catch (error) {
      if (!isUnreadable(error)) throw error
      return null
    }
  }
}

/** A delivery, or an item of one, that is authentic and that nobody could read. */
export function unreadableEvent({ id, pointer }: { readonly id: string; readonly pointer?: string }): WebhookEvent {
  const facts = { orderId: '', withheld: 'unreadable' } as const
  return { id, type: 'unreadable', facts: pointer === undefined ? facts : { ...facts, pointer } }
}

function isUnreadable(error: unknown): boolean {
  return invalidBody.is(error) || eventInvalid.is(error)
}
