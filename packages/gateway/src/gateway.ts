import { setTimeout as sleep } from 'node:timers/promises'
import { ensureFormat } from '@oncehook/kernel/mongo/database-format'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { createContext } from './composition/create-context.ts'
import { createDispatching } from './composition/create-dispatching.ts'
import type { GatewayContext, GatewayDeps } from './composition/gateway-context.ts'
import { loadPauses } from './composition/load-pauses.ts'
import { startAdmin } from './composition/start-admin.ts'
import { type Background, startBackground } from './composition/start-background.ts'
import { startInbox } from './composition/start-inbox.ts'
import { startPublicListener } from './composition/start-public-listener.ts'
import { stopInTime } from './composition/stop-in-time.ts'
import { EVENTS, FIRST_EVENT_INDEXES } from './inbox/event-document.ts'
import { createOrderAudit } from './operator/audit/order-audit.ts'

/** The ports that a started gateway listens on. */
export interface StartedGateway {
  readonly publicPort: number
  readonly adminPort: number
}

/**
 * Starts a gateway. The admin listener opens first, so that its probes show what is missing. The database and the public
 * listener are next, so that deliveries are accepted as early as possible, and all the rest comes after them.
 * Each part adds its stop stage to the lifecycle. A stop during the start ends the start.
 * @throws SettingsError for a problem that a person must fix
 */
export async function startGateway(deps: GatewayDeps, lifecycle: Lifecycle): Promise<StartedGateway> {
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
  for (const { event, places } of deps.settings.findSecretWarnings()) logger.warn({ places }, event)
  background = await startBackground(context, { listener, testInboxes, handlers })
  if (!lifecycle.isStopping) logger.info({ ...started, providers: [...providers.current().keys()] }, 'service.started')
  return started
}

async function openInbox(context: GatewayContext): Promise<void> {
  await context.mongo.accepting.open(async (db) => {
    await ensureFormat(db, { collection: EVENTS, setting: 'GATEWAY_DB' })
    await ensureIndexes(db, [FIRST_EVENT_INDEXES])
  })
  await loadPauses(context)
}
