import { isHandled } from '../dispatch/handlers.ts'
import { createInbox, type Inbox, type InboxDeps } from '../inbox/inbox.ts'
import { createRedeliveryCounter, type Requeued } from '../inbox/redeliveries/redeliveries.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import type { NewAuditEntry } from '../operator/audit/audit.ts'
import type { TestInboxes } from '../operator/test-events/test-events.ts'
import type { Dispatching } from './create-dispatching.ts'
import type { GatewayContext } from './gateway-context.ts'
import { stopInTime } from './stop-in-time.ts'

const COUNT_FLUSH_MS = 1_000

/** The ways to store events. */
export interface Inboxes {
  /** For everything that is delivered. */
  readonly inbox: Inbox
  /** For test events only. Nothing that is delivered comes here. */
  readonly testInboxes: TestInboxes
}

/** Creates the inboxes. They pass the events that they store to the dispatchers. */
export function startInbox(context: GatewayContext, { dispatcher, handlers }: Dispatching): Inboxes {
  const { settings, logger, clock, mongo, metrics, databaseErrors, lifecycle, owner, providers, audit, encryption } =
    context
  const retention = readRetention(settings)
  const counts = createRedeliveryCounter({
    db: mongo.background.db,
    logger,
    flushMs: COUNT_FLUSH_MS,
    onBodyConflict: metrics.mismatched,
    onRedelivered: metrics.redelivered,
    onDropped: metrics.redeliveryDropped,
    maxCrashes: settings.MAX_CRASHES,
    redeliveryMs: (provider) => providers.current().get(provider)?.redeliveryMs ?? 0,
    onRequeued: (revivals) => audit.recordAll(revivals.map(toAuditEntry)),
  })
  lifecycle.onStop({ name: 'delivery counts', withinMs: 1_000, stop: () => stopInTime(counts) })
  const { recording } = context
  const { db } = mongo.accepting
  const deps: InboxDeps = {
    db: recording?.inserts(db) ?? db,
    owner,
    now: clock.now,
    databaseNow: mongo.accepting.databaseNow,
    ...retention,
    isHandled,
    counts,
    errors: databaseErrors,
    encryption,
    paused: () => context.pauses.current,
    dispatcher,
    handlers: handlers?.dispatchers,
  }
  const inbox = createInbox(deps)
  const createTestInbox = (reason: 'test' | null) => createInbox({ ...deps, tests: { mark: { test: true }, reason } })
  const withEffects = settings.TEST_EVENTS === 'apply' ? createTestInbox(null) : null
  const testInboxes = { withoutEffect: createTestInbox('test'), withEffects }
  return { inbox: recording?.answers(inbox) ?? inbox, testInboxes }
}

function toAuditEntry({ auditId, provider, ...details }: Requeued): NewAuditEntry {
  const by = `provider:${provider}`
  return { id: auditId, by, action: 'events.revive', reason: 'delivered again', details }
}
