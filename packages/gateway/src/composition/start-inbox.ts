import type { Dispatcher } from '../dispatch/dispatcher.ts'
import { isHandled } from '../dispatch/handlers.ts'
import { createInbox, type Inbox, type InboxDeps } from '../inbox/inbox.ts'
import { createRedeliveryCounter, type Requeued } from '../inbox/redeliveries/redeliveries.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import type { NewAuditEntry } from '../operator/audit/audit.ts'
import type { GatewayContext } from './gateway-context.ts'
import { stopInTime } from './stop-in-time.ts'

const COUNT_FLUSH_MS = 1_000

/** The two ways to store events. */
export interface Inboxes {
  /** For everything that is delivered. */
  readonly inbox: Inbox
  /** For test events only, which it marks. Nothing that is delivered comes here. */
  readonly testInbox: Inbox
}

/** Creates the inboxes. They pass the events that they store to the dispatcher. */
export function startInbox(context: GatewayContext, dispatcher: Dispatcher): Inboxes {
  const { settings, logger, clock, mongo, metrics, databaseErrors, lifecycle, owner, providers, audit, encryption } =
    context
  const counts = createRedeliveryCounter({
    db: mongo.background.db,
    logger,
    flushMs: COUNT_FLUSH_MS,
    onBodyConflict: metrics.mismatched,
    onRedelivered: metrics.redelivered,
    maxRevivals: settings.MAX_STARTS,
    redeliveryMs: (provider) => providers.current().get(provider)?.redeliveryMs ?? 0,
    onRequeued: (revivals) => audit.recordAll(revivals.map(toAuditEntry)),
  })
  lifecycle.onStop({ name: 'delivery counts', withinMs: 1_000, stop: () => stopInTime(counts) })
  const deps: InboxDeps = {
    db: mongo.accepting.db,
    isSharded: () => mongo.accepting.isSharded,
    owner,
    leaseMs: settings.LEASE_MS,
    now: clock.now,
    ...readRetention(settings),
    isHandled,
    counts,
    errors: databaseErrors,
    encryption,
    paused: () => context.pauses.current,
    dispatcher,
  }
  const tests = { mark: { test: true }, reason: settings.TEST_EVENTS === 'apply' ? null : 'test' } as const
  return { inbox: createInbox(deps), testInbox: createInbox({ ...deps, tests }) }
}

function toAuditEntry({ auditId, provider, ...details }: Requeued): NewAuditEntry {
  const by = `provider:${provider}`
  return { id: auditId, by, action: 'events.revive', reason: 'delivered again', details }
}
