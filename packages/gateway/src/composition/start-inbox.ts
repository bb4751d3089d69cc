import type { Dispatcher } from '../dispatch/dispatcher.ts'
import { isHandled } from '../dispatch/handlers.ts'
import { createDeliveryCounts } from '../inbox/delivery-counts.ts'
import { createInbox, type Inbox } from '../inbox/inbox.ts'
import type { Foundation } from './gateway-parts.ts'
import { stopInTime } from './stop-in-time.ts'

const DAY_MS = 86_400_000
const COUNT_FLUSH_MS = 1_000

/** Opens the durable front; what it stores goes on to the dispatcher. */
export function startInbox(foundation: Foundation, dispatcher: Dispatcher): Inbox {
  const { settings, logger, clock, mongo, metrics, databaseErrors, lifecycle, owner } = foundation
  const counts = createDeliveryCounts({
    db: mongo.background.db,
    logger,
    flushMs: COUNT_FLUSH_MS,
    onMismatch: metrics.mismatched,
  })
  lifecycle.onStop({ name: 'delivery counts', withinMs: 1_000, stop: () => stopInTime(counts) })
  return createInbox({
    db: mongo.accepting.db,
    owner,
    now: clock.now,
    retentionMs: settings.EVENT_RETENTION_DAYS * DAY_MS,
    isHandled,
    counts,
    errors: databaseErrors,
    admits: () => dispatcher.admits(),
    onClaimed: (claim) => dispatcher.take(claim),
  })
}
