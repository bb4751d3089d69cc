import { hash } from 'node:crypto'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import { type WriteResult, writeResultsOf } from '@oncehook/kernel/mongo/write-outcome'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import { monotonicMs } from '@oncehook/kernel/time/clock'
import type { WebhookEvent } from '@oncehook/webhooks/providers'
import type { Db } from 'mongodb'
import { type ClaimTaker, toClaim } from './claims/claim.ts'
import { EVENTS, type EventDocument, KEY_INDEX } from './event-document.ts'
import { createGroupCommit } from './group-commit.ts'
import { GROUP_LIMITS, OVERHEAD_BYTES } from './group-limits.ts'
import { KnownIds, MOST_KNOWN_IDS } from './known-ids.ts'
import type { TaskWish } from './lines/line.ts'
import type { PausedProviders } from './pauses/provider-pauses.ts'
import { type BatchArrival, createBatchRecorder } from './record-batch.ts'
import type { RedeliveryCounter } from './redeliveries/redeliveries.ts'
import type { Retention } from './retention/retention.ts'
import { createRecord, takerOf } from './tasks/create-record.ts'
import { splitArrival } from './tasks/split-arrival.ts'

/** The evidence of an authentic delivery, stored with each of its events. */
export interface Evidence {
  readonly provider: string
  readonly rawBody: Buffer
  /** The query of the delivery, empty if there was none. */
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly secretId: string
  readonly requestId: string
  /** Whether the signature covers a time, so that an old captured delivery is worthless. */
  readonly signsTime: boolean
}

/** An authentic event with the evidence of its delivery. */
export interface Arrival extends Evidence {
  readonly event: WebhookEvent
  /** The handlers that want it, besides fulfilment. Default: none. */
  readonly wantedBy?: readonly TaskWish[] | undefined
}

/** An event for one of its handlers, or for nobody. */
export interface Task extends Arrival {
  readonly handler: string
  readonly line?: string
  /** Whether it is another task of the event than the first. */
  readonly isFurther?: boolean
}

/** The result of an arrival: a new durable record, a record that was already durable, or not known to be stored. */
export type Recorded = 'recorded' | 'duplicate' | 'not_stored'

/** Dependencies of the inbox. */
export interface InboxDeps extends Retention {
  readonly db: Db
  /** The name of the claims that this process makes on insert. */
  readonly owner: string
  readonly now: () => number
  /** The time of the database's clock, in milliseconds. It may be a little behind. */
  readonly databaseNow: () => number
  readonly isHandled: (type: string) => boolean
  readonly counts: RedeliveryCounter
  readonly errors: DatabaseErrors
  /** Encrypts bodies, headers and queries, if encryption is on. */
  readonly encryption: Encryption
  /** The providers whose new records wait. */
  readonly paused: () => PausedProviders
  /** Decides which new records are claimed on insert, and sends them. */
  readonly dispatcher: ClaimTaker
  /** Does the same for tasks of configured handlers. Absent: there are none. */
  readonly handlers?: { readonly takerOf: (handler: string) => ClaimTaker | undefined } | undefined
  /** Only of the inbox for test events: marks its records, and says why they have no effect. Null: they have one. */
  readonly tests?: { readonly mark: Pick<EventDocument, 'test'>; readonly reason: 'test' | null }
}

/** The durable entrance of the gateway. */
export interface Inbox {
  /** Stores an arrival unless it is stored. Resolves when a majority holds the record, or when that is unknown. */
  record(arrival: Arrival): Promise<Recorded>
  /**
   * Stores the events of one delivery, and their shared body once. Resolves to the outcome of each, in their order.
   * Stored events stay stored even if others could not be stored.
   */
  recordBatch(arrival: BatchArrival): Promise<readonly Recorded[]>
  /** Arrivals that wait for their verdict. */
  readonly waiting: number
}

/** Creates the inbox: grouped inserts under the unique index, and a memory of keys that are known to be durable. */
export function createInbox(deps: InboxDeps): Inbox {
  const known = new KnownIds(MOST_KNOWN_IDS)
  // A redelivery that would be dropped is not answered from memory: if the database is unavailable, the provider sends it again.
  const isKnown = (key: string): boolean => !deps.counts.isBlocked && known.has(key)
  const writeGroup = (documents: EventDocument[]) => insert(deps, documents)
  const group = createGroupCommit<EventDocument>({ writeGroup, now: monotonicMs }, GROUP_LIMITS)
  const settle = (written: Written): Recorded => {
    const { task, body, key, document, verdict } = written
    if (document?.state === 'processing' && verdict !== 'stored') takerOf(deps, document)?.miss()
    // Perhaps it is stored, and even claimed. Then it is due when its claim ends.
    if (verdict === undefined || verdict === 'unknown') return 'not_stored'
    known.add(key)
    if (verdict === 'duplicate') return countDuplicate(deps, task, body)
    if (document?.state === 'processing') takerOf(deps, document)?.take(toClaim(document))
    else if (document?.line !== undefined) takerOf(deps, document)?.expect()
    return 'recorded'
  }
  const recordBatch = createBatchRecorder(deps, {
    ...{ isKnown, keyOf, group, settle },
    split: (arrival) => splitArrival(deps, arrival),
    toDocument: (task, body) => createRecord(deps, task, body),
  })
  const recordTasks = async (arrival: Arrival): Promise<Recorded> => {
    const { event, wantedBy } = arrival
    const endsAt = performance.now() + GROUP_LIMITS.maxWaitMs
    const [outcome] = await recordBatch({ evidence: arrival, events: [event], wantedBy: () => wantedBy, endsAt })
    return outcome ?? 'not_stored'
  }
  return {
    get waiting() {
      return group.waiting
    },
    async record(received) {
      const [task, ...others] = splitArrival(deps, received)
      if (task === undefined || others.length > 0) return recordTasks(received)
      const body = { hash: hash('sha256', task.rawBody, 'base64') }
      const key = keyOf(task, body)
      if (isKnown(key)) return countDuplicate(deps, task, body)
      const document = createRecord(deps, task, body)
      const verdict = await group.write(document, task.rawBody.length + OVERHEAD_BYTES)
      return settle({ task, body, key, document, verdict })
    },
    recordBatch,
  }
}

/** The body of an event. It has an id if it is stored separately from the record. */
export interface StoredBody {
  readonly hash: string
  readonly id?: string
}

/** A task that was written: its key, its record if one was made, and the verdict of the database. */
export interface Written {
  readonly task: Task
  readonly body: StoredBody
  readonly key: string
  readonly document: EventDocument | undefined
  readonly verdict: WriteResult | undefined
}

function keyOf({ provider, event, handler }: Task, body: StoredBody): string {
  return `${provider}\n${event.id}\n${body.hash}\n${handler}`
}

async function insert(deps: InboxDeps, documents: EventDocument[]): Promise<WriteResult[]> {
  const { db, errors } = deps
  try {
    // The raw command costs the driver half of what insertMany does, and its reply distinguishes write-concern errors.
    const reply = await db.command({ insert: EVENTS, documents, ordered: false, writeConcern: MAJORITY })
    errors.countReply(reply)
    return writeResultsOf(reply, documents.length, KEY_INDEX.key)
  } catch (error) {
    errors.count(error)
    throw error
  }
}

function countDuplicate(deps: InboxDeps, task: Task, body: StoredBody): 'duplicate' {
  const { provider, event, handler, isFurther } = task
  deps.counts.add({ provider, event, bodyHash: body.hash, handler, isFurther })
  return 'duplicate'
}
