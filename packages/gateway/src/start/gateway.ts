import { setTimeout as sleep } from 'node:timers/promises'
import { ensureFormat } from '@oncehook/kernel/mongo/database-format'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { logSecretWarnings } from '@oncehook/kernel/secrets/secret-register'
import type { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { EVENTS, FIRST_TASK_INDEXES } from '@oncehook/queue/task'
import { FULFILMENT } from '../inbox/event-document.ts'
import { createInbox, type Inbox, type InboxDeps } from '../inbox/inbox.ts'
import { createRedeliveryCounter, type Requeued } from '../inbox/redeliveries/redeliveries.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import type { NewAuditEntry } from '../operator/audit/audit.ts'
import { createOrderAudit } from '../operator/audit/order-audit.ts'
import type { TestInboxes } from '../operator/test-events/test-events.ts'
import { type Background, startBackground } from './background.ts'
import { createDispatching, type Dispatching } from './dispatching.ts'
import { createContext, type GatewayContext, type GatewayDeps, stopInTime } from './gateway-context.ts'
import { startAdmin } from './private-listener.ts'
import { startPublicListener } from './public-listener.ts'

/**
 * Starts a gateway. The admin listener opens first, so that its probes show what is missing. The database and the public
 * listener are next, so that deliveries are accepted as early as possible, and all the rest comes after them.
 * Each part adds its stop stage to the lifecycle. A stop during the start ends the start.
 * @throws SettingsError for a problem that a person must fix
 */
export async function startGateway(deps: GatewayDeps, lifecycle: Lifecycle) {
  const context = createContext(deps, lifecycle)
  const { logger, providers } = context
  let background: Background | null = null
  const adminPort = await startAdmin(context, () => background?.operators ?? null)
  await openInbox(context)
  const dispatching = createDispatching(context)
  const { handlers } = dispatching
  const { inbox, testInboxes } = startInbox(context, dispatching)
  const orderAudit = createOrderAudit(context.audit, { logger, wait: sleep })
  // Added before the public listener, so that the listener is closed first.
  const stopHousekeeping = async () =>
    void (await Promise.all([orderAudit, ...(background?.housekeeping ?? [])].map(stopInTime)))
  lifecycle.onStop({ name: 'housekeeping', withinMs: 1_000, stop: stopHousekeeping })
  const receiving = { inbox, findWanting: handlers?.findWanting, recordChange: orderAudit.record }
  const listener = await startPublicListener(context, receiving)
  const started = { publicPort: listener.port, adminPort }

  if (lifecycle.isStopping) return started
  dispatching.start()
  logSecretWarnings(deps.settings.findSecretWarnings(), logger)
  background = await startBackground(context, listener, testInboxes, handlers)
  if (!lifecycle.isStopping) logger.info({ ...started, providers: [...providers.current().keys()] }, 'service.started')
  return started
}

async function openInbox(context: GatewayContext): Promise<void> {
  await context.mongo.accepting.open(async (db) => {
    await ensureFormat(db, { collection: EVENTS, setting: 'GATEWAY_DB' })
    await ensureIndexes(db, [FIRST_TASK_INDEXES])
  })
  await loadPauses(context)
}

const RETRY_MS = 1_000
const LOG_EVERY = 10

/**
 * Reads which providers and handlers are paused, before the first event is sent: a pause outlives a restart. Retries every
 * second until the database answers or the gateway stops.
 */
async function loadPauses({
  pauses,
  handlerPauses,
  settings,
  lifecycle,
  logger,
}: Pick<GatewayContext, 'pauses' | 'handlerPauses' | 'settings' | 'lifecycle' | 'logger'>): Promise<void> {
  for (let tries = 0; !lifecycle.isStopping; tries += 1) {
    try {
      await Promise.all([pauses.refresh(), settings.handlers.isSet ? handlerPauses.refresh() : undefined])
      return
    } catch (error) {
      if (tries % LOG_EVERY === 0) logger.warn({ error }, 'pauses.not-read')
      await sleep(RETRY_MS)
    }
  }
}

const COUNT_FLUSH_MS = 1_000

/**
 * Creates the inbox for everything that is delivered, and those for test events only. They pass the events that they store
 * to the dispatchers.
 */
export function startInbox(
  context: GatewayContext,
  { dispatcher, handlers }: Dispatching,
): { inbox: Inbox; testInboxes: TestInboxes } {
  const { settings, logger, mongo, metrics, databaseErrors, lifecycle, owner, providers, audit, encryption } = context
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
    databaseNow: mongo.accepting.databaseNow,
    ...retention,
    counts,
    errors: databaseErrors,
    encryption,
    paused: () => context.pauses.current,
    takerOf: (handler) => (handler === FULFILMENT ? dispatcher : handlers?.dispatchers.takerOf(handler)),
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
