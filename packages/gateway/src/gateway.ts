import { setTimeout as sleep } from 'node:timers/promises'
import type { Lifecycle } from '@oncehook/kernel/lifecycle'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createContext } from './composition/create-context.ts'
import type { GatewayContext, GatewayDeps } from './composition/gateway-context.ts'
import { loadPauses } from './composition/load-pauses.ts'
import type { Background } from './composition/start-background.ts'
import { stopInTime } from './composition/stop-in-time.ts'
import { FIRST_EVENT_INDEXES, FIRST_TASK_INDEXES } from './inbox/event-document.ts'
import { ensureTaskIndexes } from './inbox/tasks/ensure-task-indexes.ts'

// Deliveries that failed earlier arrive at once. Without this pause they would wait 80 ms while the rest is loaded.
const HEAD_START_MS = 50

/** The ports that a started gateway listens on. */
export interface StartedGateway {
  readonly publicPort: number
  readonly adminPort: number
}

/**
 * Starts a gateway. The admin listener opens first, so that its probes show what is missing. The database and the public
 * listener are next, so that deliveries are accepted as early as possible. Everything that no delivery needs comes last.
 * Each part adds its stop stage to the lifecycle. A stop during the start ends the start.
 * @throws SettingsError for a problem that a person must fix
 */
export async function startGateway(deps: GatewayDeps, lifecycle: Lifecycle): Promise<StartedGateway> {
  const context = createContext(deps, lifecycle)
  const { logger, providers } = context
  let background: Background | null = null
  // Meanwhile the rest is loaded: that takes as long as the answers of the database.
  const opening = openInbox(context)
  // A failure is thrown where its result is needed.
  opening.catch(() => undefined)
  const { startAdmin } = await import('./composition/start-admin.ts')
  const adminPort = await startAdmin(context, () => background?.operators ?? null)
  const [{ createDispatching }, { startInbox }, { startPublicListener }] = await Promise.all([
    import('./composition/create-dispatching.ts'),
    import('./composition/start-inbox.ts'),
    import('./composition/start-public-listener.ts'),
    opening,
  ])
  const dispatching = await createDispatching(context)
  const { dispatcher, handlers } = dispatching
  // Nothing waits for it: until it is done, deliveries are stored for any process.
  void dispatcher.announce()
  const { inbox, testInboxes } = startInbox(context, dispatching)
  // Added before the public listener, so that the listener is closed first.
  const stopHousekeeping = async () => void (await Promise.all((background?.housekeeping ?? []).map(stopInTime)))
  lifecycle.onStop({ name: 'housekeeping', withinMs: 1_000, stop: stopHousekeeping })
  const listener = await startPublicListener(context, { inbox, findWanting: handlers?.findWanting })
  const started = { publicPort: listener.port, adminPort }

  await sleep(HEAD_START_MS)
  if (lifecycle.isStopping) return started
  dispatcher.start()
  handlers?.start()
  for (const { event, places } of deps.settings.findSecretWarnings()) logger.warn({ places }, event)
  const { startBackground } = await import('./composition/start-background.ts')
  background = await startBackground(context, { listener, testInboxes, handlers })
  if (!lifecycle.isStopping) logger.info({ ...started, providers: [...providers.current().keys()] }, 'service.started')
  return started
}

async function openInbox(context: GatewayContext): Promise<void> {
  const hasHandlers = context.settings.handlers.isSet
  await context.mongo.accepting.open((db) =>
    hasHandlers ? ensureTaskIndexes(db, FIRST_TASK_INDEXES) : ensureIndexes(db, [FIRST_EVENT_INDEXES]),
  )
  await loadPauses(context)
}
