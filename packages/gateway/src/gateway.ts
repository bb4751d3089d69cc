import { setTimeout as sleep } from 'node:timers/promises'
import type { Lifecycle } from '@oncehook/kernel/lifecycle'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createDispatcher } from './composition/create-dispatcher.ts'
import type { GatewayParts } from './composition/gateway-parts.ts'
import { layFoundation } from './composition/lay-foundation.ts'
import { startAdmin } from './composition/start-admin.ts'
import { startFront } from './composition/start-front.ts'
import { startInbox } from './composition/start-inbox.ts'
import { EVENT_INDEXES } from './inbox/event-document.ts'
import type { OperatorApi } from './operator/operator-api.ts'

// What could not be delivered meanwhile comes at once, and would wait 80 ms while the rest is loaded.
const HEAD_START_MS = 50

/** The ports that a started gateway listens on. */
export interface StartedGateway {
  readonly publicPort: number
  readonly adminPort: number
}

/**
 * Starts a gateway: the admin listener first, so that what is missing can be seen; then the database and the public
 * listener, so that deliveries are taken as soon as they can be; then all that no delivery waits for. Each part adds its
 * stop stage to the lifecycle.
 * @throws SettingsError for what a person must put right
 */
export async function startGateway(parts: GatewayParts, lifecycle: Lifecycle): Promise<StartedGateway> {
  const foundation = layFoundation(parts, lifecycle)
  const { logger, providers, mongo } = foundation
  let operator: OperatorApi | null = null
  const adminPort = await startAdmin(foundation, () => operator)

  await mongo.accepting.open((db) => ensureIndexes(db, [EVENT_INDEXES]))
  const dispatcher = createDispatcher(foundation)
  const front = await startFront(foundation, startInbox(foundation, dispatcher))

  await sleep(HEAD_START_MS)
  const { startRest } = await import('./composition/start-rest.ts')
  operator = await startRest(foundation, front)
  dispatcher.start()
  logger.info({ publicPort: front.port, adminPort, providers: [...providers.current().keys()] }, 'service.started')
  return { publicPort: front.port, adminPort }
}
