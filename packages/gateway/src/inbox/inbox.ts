import { hash } from 'node:crypto'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { MAJORITY } from '@oncehook/kernel/mongo/mongo-connection'
import { verdictsOf, type WriteVerdict } from '@oncehook/kernel/mongo/write-outcome'
import { Binary, type Db, ObjectId, Timestamp } from 'mongodb'
import type { WebhookEvent } from '../event.ts'
import type { Claim } from './claims.ts'
import type { DeliveryCounts } from './delivery-counts.ts'
import { EVENTS, type EventDocument, type EventState } from './event-document.ts'
import { createGroupCommit, GROUP_LIMITS } from './group-commit.ts'
import { KnownIds } from './known-ids.ts'

/** An authentic event with the evidence that is kept of its delivery. */
export interface Arrival {
  readonly provider: string
  readonly event: WebhookEvent
  readonly rawBody: Buffer
  /** The query that the delivery came with, empty where there was none. */
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly secretId: string
  readonly requestId: string
  /** Whether the signature covers a time, so that an old capture is worth nothing. */
  readonly signsTime: boolean
}

/** What became of an arrival: a new durable record, one that was durable before, or not known to be stored. */
export type Recorded = 'recorded' | 'duplicate' | 'not_stored'

/** What the inbox works with. */
export interface InboxDeps {
  readonly db: Db
  /** Names this process as holder of what it inserts. */
  readonly owner: string
  readonly now: () => number
  readonly retentionMs: number
  readonly isHandled: (type: string) => boolean
  readonly counts: DeliveryCounts
  readonly errors: DatabaseErrors
  /** Takes a claim on a new record, or declines: the record is then born pending. Asked before the insert. */
  readonly admits: () => boolean
  /** Told of each new record that was born claimed, after it is durable. */
  readonly onClaimed: (claim: Claim) => void
}

/** The durable front of the gateway. */
export interface Inbox {
  /** Stores an arrival unless it is there already. It resolves when a majority holds the record, or when that is not known. */
  record(arrival: Arrival): Promise<Recorded>
  /** Arrivals that wait for their verdict. */
  readonly waiting: number
}

const KNOWN_IDS = 50_000
// What a document costs beside the body, roughly: names, strings, headers.
const OVERHEAD_BYTES = 1_024

/** Creates the inbox: grouped inserts under the unique index, and a memory of what is known to be durable. */
export function createInbox(deps: InboxDeps): Inbox {
  const known = new KnownIds(KNOWN_IDS)
  const writeGroup = (documents: EventDocument[]) => insert(deps, documents)
  const group = createGroupCommit<EventDocument>({ writeGroup, now: () => performance.now() }, GROUP_LIMITS)
  return {
    get waiting() {
      return group.waiting
    },
    async record(arrival) {
      const bodyHash = hash('sha256', arrival.rawBody, 'base64')
      const key = `${arrival.provider}\n${arrival.event.id}\n${bodyHash}`
      if (known.has(key)) return countDuplicate(deps, arrival, bodyHash)
      const document = toDocument(deps, arrival, bodyHash)
      const verdict = await group.write(document, arrival.rawBody.length + OVERHEAD_BYTES)
      if (verdict === 'unknown') return 'not_stored'
      known.add(key)
      if (verdict === 'duplicate') return countDuplicate(deps, arrival, bodyHash)
      if (document.state === 'processing') deps.onClaimed(toClaim(document))
      return 'recorded'
    },
  }
}

async function insert({ db, errors }: InboxDeps, documents: EventDocument[]): Promise<WriteVerdict[]> {
  try {
    // The raw command costs the driver half of what insertMany does, and its reply tells write-concern errors apart.
    const reply = await db.command({ insert: EVENTS, documents, ordered: false, writeConcern: MAJORITY })
    errors.countReply(reply)
    return verdictsOf(reply, documents.length)
  } catch (error) {
    errors.count(error)
    throw error
  }
}

function countDuplicate(deps: InboxDeps, arrival: Arrival, bodyHash: string): 'duplicate' {
  deps.counts.add({ provider: arrival.provider, event: arrival.event, bodyHash })
  return 'duplicate'
}

function toDocument(deps: InboxDeps, arrival: Arrival, bodyHash: string): EventDocument {
  const { event } = arrival
  const { orderId, ...facts } = event.facts
  const receivedAt = new Date(deps.now())
  return {
    _id: new ObjectId(),
    provider: arrival.provider,
    eventId: event.id,
    type: event.type,
    objectId: event.objectId,
    orderId,
    facts,
    receivedAt,
    raw: new Binary(arrival.rawBody),
    bodyHash,
    headers: arrival.headers,
    ...(arrival.query === '' ? {} : { query: arrival.query }),
    secretId: arrival.secretId,
    requestId: arrival.requestId,
    ...(arrival.signsTime ? {} : { keepKey: true }),
    ...birth(deps, arrival, receivedAt),
    lost: 0,
    failures: 0,
    attempts: [],
    lastError: null,
    outcome: null,
    deliveries: 1,
    mismatches: 0,
  }
}

type Birth = Pick<EventDocument, 'reason' | 'starts' | 'fence'> & {
  state: EventState
  leaseOwner?: string
  claimedAt?: Timestamp
  settledAt?: Date
  expireAt?: Date
  stripAt?: Date
}

function birth(deps: InboxDeps, { event, signsTime }: Arrival, receivedAt: Date): Birth {
  if (!deps.isHandled(event.type)) {
    const end = new Date(receivedAt.getTime() + deps.retentionMs)
    const retention = signsTime ? { expireAt: end } : { stripAt: end }
    return { state: 'unhandled', reason: 'type_unhandled', starts: 0, fence: 0, settledAt: receivedAt, ...retention }
  }
  if (!deps.admits()) return { state: 'pending', reason: null, starts: 0, fence: 0 }
  const claimedAt = new Timestamp({ t: 0, i: 0 })
  return { state: 'processing', reason: null, starts: 1, fence: 1, leaseOwner: deps.owner, claimedAt }
}

function toClaim(document: EventDocument): Claim {
  const { _id, provider, eventId, type, objectId, orderId, facts, fence, requestId } = document
  return {
    _id,
    provider,
    fence,
    lost: 0,
    failures: 0,
    failedForMs: 0,
    orderUnknownForMs: 0,
    requestId,
    event: { id: eventId, type, objectId, facts: { ...facts, orderId } },
  }
}
