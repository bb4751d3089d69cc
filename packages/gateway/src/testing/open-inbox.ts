import { randomUUID } from 'node:crypto'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import type { TestDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import type { Claim, ClaimOptions } from '@oncehook/queue/claim/claim'
import { type Claims, createClaims } from '@oncehook/queue/claim/claims'
import { Steadiness } from '@oncehook/queue/claim/steadiness'
import { EVENTS } from '@oncehook/queue/task'
import { NO_PAUSES } from '@oncehook/queue/testing/no-pauses'
import type { Collection, CommandStartedEvent, Db } from 'mongodb'
import { Registry } from 'prom-client'
import { BODY_INDEXES } from '../inbox/bodies.ts'
import { EVENT_INDEXES, EVIDENCE_FIELDS, type EventDocument, FULFILMENT } from '../inbox/event-document.ts'
import { type Arrival, createInbox, type Inbox, type InboxDeps } from '../inbox/inbox.ts'
import { createRedeliveryCounter, type RedeliveryCounter, type Requeued } from '../inbox/redeliveries/redeliveries.ts'
import { endFields } from '../inbox/retention/retention.ts'

/** The inbox of one gateway process on a test database. A test can see everything that it does. */
export interface OpenInbox extends AsyncDisposable {
  readonly inbox: Inbox
  readonly counts: RedeliveryCounter
  /** The connection under test. Fail points refer to it by `appName`. */
  readonly db: Db
  readonly appName: string
  readonly events: Collection<EventDocument>
  /** The time of the database's clock, in milliseconds. */
  readonly databaseNow: () => number
  /** Every command that was sent to the server over the connection under test. */
  readonly commands: CommandStartedEvent[]
  /** The claims that were made on insert. */
  readonly claimedOnInsert: Claim[]
  /** Deliveries with another body but the same id, by provider. */
  readonly mismatched: [provider: string, times: number][]
  /** What became of redeliveries of dead events. */
  readonly redelivered: string[]
  /** What was written to the audit log before a revival. */
  readonly revivals: Requeued[]
  /** Claims of a process: each call makes those of another one. */
  claims(deps?: Partial<ClaimOptions>): Claims
  /** The record of an event. */
  record(eventId: string): Promise<EventDocument>
}

const HOUR_MS = 3_600_000
const LASTS_MS = 30_000
const STEADY = new Steadiness(
  0,
  () => 0,
  async () => undefined,
)
const IDLE = { lastsMs: LASTS_MS, miss: (): void => undefined, expect: (): void => undefined }

/** What a test changes: the dependencies of the inbox, or only whether new records are claimed on insert. */
type OpenInboxOptions = Partial<InboxDeps> & { readonly admits?: () => boolean }

/** Opens an inbox on a test database. Counts are flushed only when the test requests it. */
export async function openInbox(
  database: TestDatabase,
  { admits = () => true, ...deps }: OpenInboxOptions = {},
): Promise<OpenInbox> {
  const { logger } = memoryLogger()
  const appName = `inbox-${randomUUID()}`
  const connection = createMongoConnection({
    ...{ uri: database.uri, database: database.name, appName, maxPoolSize: 8, logger },
    monitorCommands: true,
  })
  await connection.open((db) => ensureIndexes(db, [EVENT_INDEXES, BODY_INDEXES]))
  const { db } = connection
  const commands: CommandStartedEvent[] = []
  connection.client.on('commandStarted', (event) => commands.push(event))
  const mismatched: OpenInbox['mismatched'] = []
  const onBodyConflict = (provider: string, times: number): void => void mismatched.push([provider, times])
  const revivals: Requeued[] = []
  const onRequeued = async (added: readonly Requeued[]): Promise<void> => void revivals.push(...added)
  const redelivered: string[] = []
  const onRedelivered = (_: string, outcome: string): void => void redelivered.push(outcome)
  const limits = { onRedelivered, onDropped: () => undefined, maxCrashes: 8, redeliveryMs: () => HOUR_MS }
  const errors = createDatabaseErrors(new Registry())
  const { encryption = NO_ENCRYPTION, retentionMs = HOUR_MS, bodyRetentionMs = HOUR_MS } = deps
  const storing = { encryption, errors, retentionMs, bodyRetentionMs }
  const reports = { onBodyConflict, onRequeued, ...limits }
  const counts = createRedeliveryCounter({ db, logger, flushMs: HOUR_MS, ...reports })
  const owner = randomUUID()
  const claimedOnInsert: Claim[] = []
  const taker = { admits, take: (claim: Claim) => claimedOnInsert.push(claim), ...IDLE }
  const events = database.db.collection<EventDocument>(EVENTS)
  return {
    inbox: createInbox({
      ...{ db, owner, databaseNow: connection.databaseNow, ...storing, counts, paused: () => NO_PAUSES.current },
      takerOf: (handler) => (handler === FULFILMENT ? taker : undefined),
      ...deps,
    }),
    databaseNow: connection.databaseNow,
    ...{ counts, db, appName, events, commands, claimedOnInsert, mismatched, redelivered, revivals },
    claims: (others) =>
      createClaims({
        ...{ db, handler: FULFILMENT, lastsMs: LASTS_MS, steadiness: STEADY },
        ...{ end: endFields({ retentionMs: HOUR_MS, bodyRetentionMs: HOUR_MS }), unread: EVIDENCE_FIELDS },
        ...{ maxCrashes: 8, maxDelayMs: 900_000, callBroke: 'fulfilment_failed' },
        paused: () => NO_PAUSES.current,
        ...others,
      }),
    async record(eventId) {
      const found = await events.findOne({ eventId })
      if (found === null) throw new Error(`There is no record of ${eventId}`)
      return found
    },
    async [Symbol.asyncDispose]() {
      await counts.stop()
      await connection.close()
    },
  }
}

/** An authentic delivery of an event. The given properties replace the usual ones. */
export function sampleArrival(eventId: string, members: Partial<Arrival> = {}): Arrival {
  return {
    provider: 'acme',
    event: { id: eventId, type: 'payment.succeeded', objectId: 'pay_1', facts: { orderId: 'ord_1', amount: 1999 } },
    rawBody: Buffer.from(`the body of ${eventId}`),
    query: '',
    headers: { 'content-type': 'application/json' },
    secretId: 's1',
    requestId: 'request-1',
    receivedAt: new Date(),
    signsTime: true,
    ...members,
  }
}
