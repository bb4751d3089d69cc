import { hash } from 'node:crypto'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import type { WriteResult } from '@oncehook/kernel/mongo/write-outcome'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import { monotonicMs } from '@oncehook/kernel/time/clock'
import { toClaim } from '@oncehook/queue/claim/claim'
import type { Dispatcher } from '@oncehook/queue/dispatch/dispatcher'
import { GROUP_LIMITS, GroupCommit, OVERHEAD_BYTES } from '@oncehook/queue/insert/group-commit'
import { insertTasks, KnownKeys, MOST_KNOWN_KEYS } from '@oncehook/queue/insert/insert'
import type { TaskWish } from '@oncehook/queue/order/turns'
import type { Paused } from '@oncehook/queue/pauses'
import type { WebhookEvent } from '@oncehook/webhooks/providers'
import type { Db } from 'mongodb'
import type { StoredBody } from './bodies.ts'
import { type EventDocument, withoutEvidence } from './event-document.ts'
import { type BatchArrival, createBatchRecorder } from './record-batch.ts'
import type { RedeliveryCounter } from './redeliveries/redeliveries.ts'
import type { Retention } from './retention/retention.ts'
import { createRecord, joinOutcomes, splitArrival } from './tasks.ts'

export interface Evidence {
  readonly provider: string
  readonly rawBody: Buffer
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly secretId: string
  readonly requestId: string
  /** When the delivery arrived. All tasks that it makes have this time: a handler compares what it gets. */
  readonly receivedAt: Date
  /** Whether the signature covers a time, so that an old captured delivery is worthless. */
  readonly signsTime: boolean
}

/** An event, and the handlers that want it. */
export interface Offer {
  readonly event: WebhookEvent
  /** Besides fulfilment. Default: none. */
  readonly wantedBy?: readonly TaskWish[] | undefined
}

export interface Arrival extends Evidence, Offer {}

/** An event for one of its handlers, or for nobody. */
export interface Task {
  readonly arrival: Arrival
  readonly handler: string
  readonly line?: string
  /** Whether it is another task of the event than the first. */
  readonly isFurther?: boolean
}

/** The result of an arrival: a new durable record, a record that was already durable, or not known to be stored. */
export type Recorded = 'recorded' | 'duplicate' | 'not_stored'

/** A dispatcher, as the inbox knows it: it decides which new tasks are claimed on insert, and sends them. */
export type TaskTaker = Pick<Dispatcher, 'admits' | 'lastsMs' | 'take' | 'miss' | 'expect'>

export interface InboxDeps extends Retention {
  readonly db: Db
  readonly owner: string
  readonly databaseNow: () => number
  readonly counts: RedeliveryCounter
  readonly errors: DatabaseErrors
  readonly encryption: Encryption
  /** The providers whose new records wait. */
  readonly paused: () => Paused
  /** The dispatcher of a handler. Undefined if the handler is not configured any more: its task then waits. */
  readonly takerOf: (handler: string) => TaskTaker | undefined
  /** Only of the inbox for test events: marks its records, and says why they have no effect. Null: they have one. */
  readonly tests?: { readonly mark: Pick<EventDocument, 'test'>; readonly reason: 'test' | null }
}

export interface Inbox {
  /** Stores an arrival unless it is stored. Resolves when a majority holds the record, or when that is unknown. */
  record(arrival: Arrival): Promise<Recorded>
  /**
   * Stores the events of one delivery, and their shared body once. Resolves to the outcome of each, in their order.
   * Stored events stay stored even if others could not be stored.
   */
  recordBatch(arrival: BatchArrival): Promise<readonly Recorded[]>
  readonly waiting: number
}

// A shared body is stored before its tasks, which costs a command more. Up to this, each task of an event has a copy instead.
const MOST_COPIED_BYTES = 32_768

/** Creates the inbox: grouped inserts under the unique index, and a memory of keys that are known to be durable. */
export function createInbox(deps: InboxDeps): Inbox {
  const known = new KnownKeys(MOST_KNOWN_KEYS)
  // A redelivery that would be dropped is not answered from memory: if the database is unavailable, the provider sends it again.
  const isKnown = (key: string): boolean => !deps.counts.isBlocked && known.has(key)
  const group = new GroupCommit<EventDocument>((tasks) => insertTasks(deps.db, deps.errors, tasks), monotonicMs)
  const settle = (written: Written): Recorded => {
    const { task, body, key, document, verdict } = written
    if (document?.state === 'processing' && verdict !== 'stored') deps.takerOf(document.handler)?.miss()
    // Perhaps it is stored, and even claimed. Then it is due when its claim ends.
    if (verdict === undefined || verdict === 'unknown') return 'not_stored'
    known.add(key)
    if (verdict === 'duplicate') return countDuplicate(deps, task, body)
    if (document?.state === 'processing') deps.takerOf(document.handler)?.take(toClaim(withoutEvidence(document)))
    else if (document?.line !== undefined) deps.takerOf(document.handler)?.expect()
    return 'recorded'
  }
  const recordTask = async (task: Task, body: StoredBody): Promise<Recorded> => {
    const key = keyOf(task, body)
    if (isKnown(key)) return countDuplicate(deps, task, body)
    const document = createRecord(deps, task, body)
    const verdict = await group.write(document, task.arrival.rawBody.length + OVERHEAD_BYTES)
    return settle({ task, body, key, document, verdict })
  }
  const recordBatch = createBatchRecorder(deps, {
    ...{ isKnown, keyOf, group, settle },
    split: (arrival) => splitArrival(deps, arrival),
    toDocument: (task, body) => createRecord(deps, task, body),
  })
  return {
    get waiting() {
      return group.waiting
    },
    async record(received) {
      const tasks = splitArrival(deps, received)
      const [task, ...others] = tasks
      if (task === undefined || (others.length > 0 && tasks.length * received.rawBody.length > MOST_COPIED_BYTES)) {
        const endsAt = performance.now() + GROUP_LIMITS.maxWaitMs
        const [outcome] = await recordBatch({ evidence: received, offers: [received], endsAt })
        return outcome ?? 'not_stored'
      }
      const body = { hash: hash('sha256', received.rawBody, 'base64') }
      if (others.length === 0) return await recordTask(task, body)
      return joinOutcomes(await Promise.all(tasks.map((one) => recordTask(one, body))))
    },
    recordBatch,
  }
}

/** A task that was written: its key, its record if one was made, and the verdict of the database. */
export interface Written {
  readonly task: Task
  readonly body: StoredBody
  readonly key: string
  readonly document: EventDocument | undefined
  readonly verdict: WriteResult | undefined
}

function keyOf({ arrival: { provider, event }, handler }: Task, body: StoredBody): string {
  // Not a template: that would stay in memory in pieces.
  return [provider, event.id, body.hash, handler].join('\n')
}

function countDuplicate(deps: InboxDeps, task: Task, body: StoredBody): 'duplicate' {
  const { arrival, handler, isFurther } = task
  const { provider, event } = arrival
  deps.counts.add({ provider, event, bodyHash: body.hash, handler, isFurther })
  return 'duplicate'
}
