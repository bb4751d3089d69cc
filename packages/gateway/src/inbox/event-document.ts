import type { Sealed } from '@oncehook/kernel/encryption'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { PaymentFacts } from '@oncehook/webhooks/event'
import type { Binary, ObjectId, Timestamp } from 'mongodb'

/** All states: due or waiting, held by a process, or settled. A dead event failed; a closed one is dead for good. */
export const EVENT_STATES = ['pending', 'processing', 'done', 'unhandled', 'dead', 'closed'] as const

/** The states in which nothing more happens by itself. */
export const SETTLED_STATES = ['done', 'unhandled', 'dead', 'closed'] as const satisfies readonly EventState[]

/** The state of a record. */
export type EventState = (typeof EVENT_STATES)[number]

/** One try of ours to give an event its effect. `at` is the database's clock. */
interface Attempt {
  readonly at: Date
  readonly ms: number
  readonly outcome: string
  readonly code: string | null
  readonly message: string | null
}

/** A stored event: evidence (never changed) and the state of its processing (changed only under a fence). */
export interface EventDocument {
  readonly _id: ObjectId
  readonly provider: string
  readonly eventId: string
  readonly type: string
  readonly objectId: string
  readonly orderId: string
  readonly facts: Omit<PaymentFacts, 'orderId'>
  readonly receivedAt: Date
  /** The exact bytes of the body. Empty where the body is stored apart or encrypted, and after its retention. */
  readonly raw: Binary
  /** SHA-256 of the body, base64: tells a repetition from another body under the same id. */
  readonly bodyHash: string
  /** The document in `bodies` that holds the body of a delivery of several events. */
  readonly bodyId?: string
  readonly headers: Readonly<Record<string, string>>
  readonly query?: string
  /** Headers, query and body, encrypted; the other members of them are then empty. */
  readonly sealed?: Sealed
  readonly secretId: string
  readonly requestId: string
  readonly state: EventState
  readonly reason: string | null
  /**
   * Claims so far; `lost` of them in a row ended without any verdict, which is what a dying process leaves. The first
   * counts in any case, others only when the try had `begun`: `together` with others, or alone (true).
   */
  readonly starts: number
  readonly lost: number
  readonly begun?: true | 'together'
  /** The counted losses: by whom, and when they were noticed. */
  readonly losses?: readonly { readonly owner: string; readonly at: Date }[]
  /** Calls of fulfilment in a row that failed as a whole with this event in them, beside outages. */
  readonly failedCalls?: number
  /** Consecutive `internal` refusals of this event by fulfilment. */
  readonly internalErrors?: number
  readonly failures: number
  readonly fence: number
  readonly leaseOwner?: string
  /** Inserted empty, filled by the server's own clock; a born claim counts from here. */
  readonly claimedAt?: Timestamp
  readonly leaseUntil?: Date
  /** The length of the holder's leases, in milliseconds. */
  readonly leaseMs?: number
  /** Absent on a pending record means: due now. */
  readonly dueAt?: Date
  /** Moved on by the time that does not count, such as a jump of the clock. */
  readonly firstFailedAt?: Date
  readonly orderUnknownSince?: Date
  readonly attempts: readonly Attempt[]
  readonly lastError: { readonly code: string; readonly message: string; readonly at: Date } | null
  readonly outcome: { readonly kind: string; readonly version: number | null } | null
  readonly deliveries: number
  readonly lastDeliveryAt?: Date
  readonly mismatches: number
  /** How often a repeated delivery has revived it. Absent means never. */
  readonly revivals?: number
  /** The newest 50, each with the id of the replay. */
  readonly replays?: readonly {
    readonly id: ObjectId
    readonly at: Date
    readonly by: string
    readonly reason: string
    /** Why the body could not be read again then; what was read before counts. */
    readonly notRead?: string
  }[]
  /** Who closed it and why, as long as it is closed. */
  readonly closed?: { readonly at: Date; readonly by: string; readonly reason: string }
  /** Set where the scheme signs no time: the key must outlive the body, or an old capture could be played again. */
  readonly keepKey?: boolean
  /** From then on the body is removed, and of a record that ends without `expireAt` all but the key when its time has come. */
  readonly stripAt?: Date
  readonly settledAt?: Date
  readonly expireAt?: Date
}

/** The collection of the inbox. */
export const EVENTS = 'events'

/** The index by which the records of a body are found. */
export const BODY_INDEX = 'body'

// Ids come in no order, so every insert changes another page of their index: with small pages little is written each time.
const SMALL_PAGES = { wiredTiger: { configString: 'leaf_page_max=4KB' } }

/** The index by which records that are due are found. */
export const DUE_INDEX = 'pending_due'
/** The index by which the oldest records that wait are found. */
export const PENDING_INDEX = 'pending_oldest'
/** The index by which the records of a replay are found. */
export const REPLAYS_INDEX = 'replays'
/** The index by which the settled records of an order are found. */
export const ORDER_INDEX = 'order'
/** The index by which records are found whose holder has gone. */
export const PROCESSING_INDEX = 'processing'

/**
 * The unique index is the deduplication. The others are partial, so that a settled record costs them nothing and an
 * insert appends to them in order.
 */
export const EVENT_INDEXES: NeededIndexes = {
  collection: EVENTS,
  indexes: [
    { name: 'provider_event', key: { provider: 1, eventId: 1 }, unique: true, storageEngine: SMALL_PAGES },
    { name: DUE_INDEX, key: { state: 1, dueAt: 1 }, partialFilterExpression: { state: 'pending' } },
    {
      name: PENDING_INDEX,
      key: { state: 1, provider: 1, _id: 1 },
      partialFilterExpression: { state: 'pending' },
    },
    { name: PROCESSING_INDEX, key: { state: 1, _id: 1 }, partialFilterExpression: { state: 'processing' } },
    { name: 'dead', key: { state: 1, _id: 1, reason: 1 }, partialFilterExpression: { state: 'dead' } },
    { name: 'closed', key: { state: 1, _id: 1 }, partialFilterExpression: { state: 'closed' } },
    { name: 'unhandled', key: { state: 1, _id: 1 }, partialFilterExpression: { state: 'unhandled' } },
    {
      name: REPLAYS_INDEX,
      key: { 'replays.id': 1, state: 1 },
      partialFilterExpression: { 'replays.id': { $exists: true } },
    },
    // Only settled records: an index that an insert changes too costs a tenth of the accept rate.
    {
      name: ORDER_INDEX,
      key: { orderId: 1, _id: 1 },
      partialFilterExpression: { state: { $in: [...SETTLED_STATES] }, orderId: { $gt: '' } },
      storageEngine: SMALL_PAGES,
    },
    { name: 'strip', key: { stripAt: 1 }, sparse: true },
    { name: BODY_INDEX, key: { bodyId: 1 }, sparse: true },
    { name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0, sparse: true },
  ],
}
