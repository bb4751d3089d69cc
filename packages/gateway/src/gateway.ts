import type { Lifecycle } from '@oncehook/kernel/lifecycle'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { GatewayParts } from './composition/gateway-parts.ts'
import { layFoundation } from './composition/lay-foundation.ts'
import { startAdmin } from './composition/start-admin.ts'
import { startDispatcher } from './composition/start-dispatcher.ts'
import { startFront } from './composition/start-front.ts'
import { startHousekeeping } from './composition/start-housekeeping.ts'
import { startInbox } from './composition/start-inbox.ts'
import { EVENT_INDEXES } from './inbox/event-document.ts'
import { readInboxDepth } from './inbox/inbox-depth.ts'
import { addInboxGauges } from './metrics.ts'
import { AUDIT_INDEXES, createAudit } from './operator/audit.ts'
import type { OperatorParts } from './operator/operator-trpc.ts'
import { createReplays, REPLAY_INDEXES } from './operator/replays.ts'

/** The ports that a started gateway listens on. */
export interface StartedGateway {
  readonly publicPort: number
  readonly adminPort: number
}

/**
 * Starts a gateway: the admin listener first, so that what is missing can be seen; then the database; the public
 * listener last. Each part adds its stop stage to the lifecycle.
 * @throws SettingsError for what a person must put right
 */
export async function startGateway(parts: GatewayParts, lifecycle: Lifecycle): Promise<StartedGateway> {
  const foundation = layFoundation(parts, lifecycle)
  const { logger, clock, providers, mongo, registry, fulfilment } = foundation
  let operator: OperatorParts | null = null
  const adminPort = await startAdmin(foundation, () => operator)

  await mongo.accepting.open((db) => ensureIndexes(db, [EVENT_INDEXES, AUDIT_INDEXES, ...REPLAY_INDEXES]))
  await mongo.background.open()
  const { db } = mongo.background
  addInboxGauges(registry, () => readInboxDepth(db))
  operator = {
    db,
    audit: createAudit(db),
    replays: createReplays(db),
    providers: providers.current,
    fulfilment,
    clock,
    logger,
  }

  const dispatcher = startDispatcher(foundation)
  const inbox = startInbox(foundation, dispatcher)
  startHousekeeping(foundation)
  const publicPort = await startFront(foundation, inbox)
  logger.info({ publicPort, adminPort, providers: [...providers.current().keys()] }, 'service.started')
  return { publicPort, adminPort }
}
