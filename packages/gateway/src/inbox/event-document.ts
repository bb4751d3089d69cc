import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Sealed } from '@oncehook/kernel/secrets/encryption'
import { type Claim, textOf } from '@oncehook/queue/claim/claim'
import { EVENTS, SETTLED_STATES, SMALL_PAGES, TASK_INDEXES, type TaskDocument } from '@oncehook/queue/task'
import type { PaymentFacts, UnhandledReason, WebhookEvent } from '@oncehook/webhooks/providers'
import type { Binary, Document } from 'mongodb'

export const FULFILMENT = 'fulfilment'

/** The handler of an event that nobody wants. Its record is settled at once. */
export const NOBODY = ''

/** Why a stored event has no effect. `test`: an operator made it, to test the way of a delivery. */
export type NoEffectReason = UnhandledReason | 'test'

/** A stored event for one of its handlers: the task, and the evidence of the event, which never changes. */
export interface EventDocument extends TaskDocument {
  readonly type: string
  readonly objectId: string
  readonly orderId: string
  readonly facts: Omit<PaymentFacts, 'orderId'>
  readonly receivedAt: Date
  /** The exact bytes of the body. Empty if the body is stored separately or encrypted, and after its retention. */
  readonly raw: Binary
  /** SHA-256 of the body, base64. It distinguishes a redelivery from another body with the same id. */
  readonly bodyHash: string
  /** The document in `bodies` that holds the body of a delivery with several events, or of an event with several tasks. */
  readonly bodyId?: string
  readonly headers: Readonly<Record<string, string>>
  readonly query?: string
  /** Headers, query and body, encrypted. The other fields for them are then empty. */
  readonly sealed?: Sealed
  readonly secretId: string
  readonly requestId: string
  readonly deliveries: number
  readonly mismatches: number
  /** Set if the scheme signs no time: without its key, an old captured delivery would be accepted as new. */
  readonly keepKey?: boolean
  /** A test event that an operator sent. Set when it is stored, never changed: it keeps the event from having an effect. */
  readonly test?: true
  /**
   * From this time on the body is removed. If the record will end without `expireAt`, everything except the key is
   * removed when the retention of the record ends.
   */
  readonly stripAt?: Date
  /** From this time on the record is removed, or everything but its key while another record of its event is complete. */
  readonly expireAt?: Date
}

export const EVIDENCE_FIELDS = ['raw', 'headers', 'sealed'] as const

/** A record without them: what is claimed on insert waits in memory. */
export function withoutEvidence({ raw: _, headers: __, sealed: ___, ...rest }: EventDocument): Document {
  return rest
}

export function eventOf({ eventId, record }: Claim): WebhookEvent {
  const facts = { ...record.facts, orderId: textOf(record.orderId) }
  return { id: eventId, type: textOf(record.type), objectId: textOf(record.objectId), facts }
}

export function isTest({ record }: Claim): boolean {
  return record.test === true
}

export const BODY_INDEX = 'body'
export const REPLAYS_INDEX = 'replays'
export const ORDER_INDEX = 'order'

/** The states that the index of orders has. Of the other one, there is only what processes hold at the moment. */
export const ORDER_STATES = ['pending', ...SETTLED_STATES] as const

export const EVENT_INDEXES: NeededIndexes = {
  collection: EVENTS,
  indexes: [
    ...TASK_INDEXES,
    {
      name: REPLAYS_INDEX,
      key: { 'replays.id': 1, state: 1 },
      partialFilterExpression: { 'replays.id': { $exists: true } },
    },
    // A task that is claimed when it is stored enters it at its end: an index that every insert also changes costs a tenth of
    // the accept rate. Those that wait are in it from the beginning, because any number of them may wait.
    {
      name: ORDER_INDEX,
      key: { orderId: 1, _id: 1 },
      partialFilterExpression: { state: { $in: [...ORDER_STATES] }, orderId: { $gt: '' } },
      storageEngine: SMALL_PAGES,
    },
    { name: 'strip', key: { stripAt: 1 }, sparse: true },
    { name: BODY_INDEX, key: { bodyId: 1 }, sparse: true },
    { name: 'expiry', key: { expireAt: 1 }, sparse: true },
  ],
}
