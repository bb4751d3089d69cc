import { loadJose } from '@oncehook/kernel/load-jose'
import { readInboxDepth } from '../inbox/inbox-depth.ts'
import { addInboxGauges } from '../metrics.ts'
import { createAudit } from '../operator/audit.ts'
import { createOperatorApi, type OperatorApi } from '../operator/operator-api.ts'
import { createReplays } from '../operator/replays.ts'
import type { Foundation } from './gateway-parts.ts'
import { serveApplication } from './serve-application.ts'
import type { Front } from './start-front.ts'
import { type Housekeeping, startHousekeeping } from './start-housekeeping.ts'

const DAY_MS = 86_400_000

/** What goes on behind the deliveries. */
export interface Background {
  readonly operator: OperatorApi
  readonly housekeeping: Housekeeping
}

/**
 * Starts all that no delivery needs: the application behind the public listener, the operator API, the housekeeping; null
 * where a stop has come meanwhile. Loaded by itself, so that a start takes deliveries before it is.
 */
export async function startBackground(foundation: Foundation, front: Front): Promise<Background | null> {
  const { mongo, registry, lifecycle, fulfilment } = foundation
  await loadJose()
  const client = await fulfilment()
  serveApplication(foundation, { front, fulfilment: client })
  await mongo.background.open()
  if (lifecycle.isStopping) return null
  const { db } = mongo.background
  addInboxGauges(registry, () => readInboxDepth(db))
  const { settings, logger, clock, fetch, providers, databaseErrors } = foundation
  const operator = createOperatorApi({
    tokens: settings.OPERATOR_TOKENS,
    errors: databaseErrors,
    parts: {
      ...{ db, audit: createAudit(db), replays: createReplays(db), fulfilment: client },
      ...{ providers: providers.current, fetch, retentionMs: settings.EVENT_RETENTION_DAYS * DAY_MS, clock, logger },
    },
  })
  return { operator, housekeeping: startHousekeeping(foundation) }
}
