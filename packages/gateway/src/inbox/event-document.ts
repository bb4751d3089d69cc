import type { NeededIndex, NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Sealed } from '@oncehook/kernel/secrets/encryption'
import type { PaymentFacts } from '@oncehook/webhooks/providers'
import type { Binary, ObjectId, Timestamp } from 'mongodb'
import { BY_LINE, BY_OPEN_LINE, LINE_HELD } from './lines/line-indexes.ts'

/** The handler of payments, which is built in. */
export const FULFILMENT = 'fulfilment'

/** The handler of an event that nobody wants. Its record is settled at once. */
export const NOBODY = ''

/**
 * All states: due or waiting, held by a process, or settled. A dead event has failed. A closed event is dead
 * permanently.
 */
export const EVENT_STATES = ['pending', 'processing', 'done', 'unhandled', 'dead', 'closed'] as const

/** The states in which nothing more happens automatically. */
export const SETTLED_STATES = ['done', 'unhandled', 'dead', 'closed'] as const satisfies readonly EventState[]

/** The state of a record. */
export type EventState = (typeof EVENT_STATES)[number]

/** One attempt to apply an event. `at` is the database's clock. */
interface Attempt {
  readonly at: Date
  readonly ms: number
  readonly outcome: string
  readonly code: string | null
  readonly message: string | null
}

/** A stored event: evidence (never changed) and the state of its processing (changed only by who names its claim). */
export interface EventDocument {
  readonly _id: ObjectId
  readonly provider: string
  readonly eventId: string
  /** The handler whose task this is: a name, `FULFILMENT` or `NOBODY`. */
  readonly handler: string
  /** The line of its handler in which the task is, see `lineOf`. Absent: it waits for no other. */
  readonly line?: string
  /** Its place in the line. Inserted empty, set by the server. */
  readonly lineAt?: Timestamp
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
  readonly state: EventState
  readonly reason: string | null
  /** All claims so far. */
  readonly starts: number
  /** Consecutive losses: claims whose process died, and broken calls while the handler decided about other tasks. */
  readonly lost: number
  /** Consecutive attempts that failed. */
  readonly failures: number
  /** The sum of the waits that were set after failed attempts, in milliseconds. Nothing else counts towards the end of retries. */
  readonly waited?: number
  /** The part of `waited` since the last attempts that failed all had this code. */
  readonly waitedFor?: { readonly code: string; readonly ms: number }
  /** When a call with it last broke, while nobody knows whose fault it was. */
  readonly brokeAt?: Date
  /** The name of the claim under which it is processed, and which every later write names. */
  readonly claim?: string
  /**
   * Pending: from when it may be claimed. Processing: the end of its claim. From the year 7000 on: its provider is paused, or
   * was. The year 6999: it waits for an earlier task of its line.
   */
  readonly dueAt?: Date
  /** When a replay or a redelivery last made it due again. It has waited since then, and not since its receipt. */
  readonly dueAgainAt?: Date
  readonly attempts: readonly Attempt[]
  readonly lastError: { readonly code: string; readonly message: string; readonly at: Date } | null
  readonly outcome: { readonly kind: string; readonly version: number | null } | null
  readonly deliveries: number
  readonly lastDeliveryAt?: Date
  readonly mismatches: number
  /** How many times a redelivery has revived it. Absent means never. */
  readonly revivals?: number
  /** The newest 50 replays, each with its id. */
  readonly replays?: readonly {
    readonly id: ObjectId
    readonly at: Date
    readonly by: string
    readonly reason: string
    /** Why the body could not be read again at that time. The earlier reading then applies. */
    readonly notRead?: string
  }[]
  /** Who closed it and why, while it is closed. */
  readonly closed?: { readonly at: Date; readonly by: string; readonly reason: string }
  /**
   * Set if the scheme signs no time. The key must outlive the body, or an old captured delivery would be accepted as
   * new.
   */
  readonly keepKey?: boolean
  /** A test event that an operator sent. Set when it is stored, never changed: it keeps the event from having an effect. */
  readonly test?: true
  /**
   * From this time on the body is removed. If the record will end without `expireAt`, everything except the key is
   * removed when the retention of the record ends.
   */
  readonly stripAt?: Date
  readonly settledAt?: Date
  readonly expireAt?: Date
}

/** The collection of the inbox. */
export const EVENTS = 'events'

/** The index that finds the records of a body. */
export const BODY_INDEX = 'body'

// Ids come in no order, so every insert changes a different page of their index. With small pages, each insert writes
// little.
const SMALL_PAGES = { wiredTiger: { configString: 'leaf_page_max=4KB' } }

/** The index of work: it finds the due tasks of a handler, and those whose claims have ended. */
export const DUE_INDEX = 'due'
/** The index that finds the oldest waiting records. */
export const PENDING_INDEX = 'pending_oldest'
/** The index that finds the waiting records that were made due again longest ago. */
export const AGAIN_INDEX = 'pending_again'
/** The index that finds the records of a replay. */
export const REPLAYS_INDEX = 'replays'
/** The index that finds the settled records of an order. */
export const ORDER_INDEX = 'order'
/** The index that counts the dead tasks of each handler. */
export const DEAD_BY_HANDLER_INDEX = 'dead_by_handler'

/** The unique index. It does the deduplication. */
export const KEY_INDEX = {
  name: 'task_key',
  key: { provider: 1, eventId: 1, handler: 1 },
  unique: true,
  storageEngine: SMALL_PAGES,
} as const satisfies NeededIndex

/** The order in which `DUE_INDEX` has the tasks of a handler. */
export const BY_DUE = { state: 1, handler: 1, dueAt: 1, _id: 1 } as const

// What deliveries and the dispatchers need.
const FIRST: readonly NeededIndex[] = [
  KEY_INDEX,
  { name: DUE_INDEX, key: BY_DUE, partialFilterExpression: { state: { $in: ['pending', 'processing'] } } },
  ...[LINE_HELD, BY_LINE, BY_OPEN_LINE],
]

/** The unique index does the deduplication, the others are for searches. */
export const EVENT_INDEXES: NeededIndexes = {
  collection: EVENTS,
  // Partial, so that a settled record costs them nothing and an insert appends to them in order.
  indexes: [
    ...FIRST,
    {
      name: PENDING_INDEX,
      key: { state: 1, provider: 1, _id: 1 },
      partialFilterExpression: { state: 'pending' },
    },
    {
      name: AGAIN_INDEX,
      key: { state: 1, provider: 1, dueAgainAt: 1 },
      partialFilterExpression: { state: 'pending', dueAgainAt: { $type: 'date' } },
    },
    { name: 'dead', key: { state: 1, _id: 1, reason: 1 }, partialFilterExpression: { state: 'dead' } },
    { name: DEAD_BY_HANDLER_INDEX, key: { state: 1, handler: 1 }, partialFilterExpression: { state: 'dead' } },
    { name: 'closed', key: { state: 1, _id: 1 }, partialFilterExpression: { state: 'closed' } },
    { name: 'unhandled', key: { state: 1, _id: 1 }, partialFilterExpression: { state: 'unhandled' } },
    {
      name: REPLAYS_INDEX,
      key: { 'replays.id': 1, state: 1 },
      partialFilterExpression: { 'replays.id': { $exists: true } },
    },
    // Settled records only: an index that every insert also changes costs a tenth of the accept rate.
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

/** Those of `EVENT_INDEXES` that the gateway makes first. It makes the others once it accepts deliveries. */
export const FIRST_EVENT_INDEXES: NeededIndexes = { collection: EVENTS, indexes: FIRST }
