import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { readInboxDepth } from '../inbox/inbox-depth.ts'
import { addInboxGauges } from '../metrics.ts'
import { AUDIT_INDEXES } from '../operator/audit.ts'
import type { OperatorApi } from '../operator/operator-api.ts'
import { REPLAY_INDEXES } from '../operator/replays.ts'
import type { Foundation } from './gateway-parts.ts'
import { makeOperatorApi } from './make-operator-api.ts'
import { serveApplication } from './serve-application.ts'
import type { Front } from './start-front.ts'
import { startHousekeeping } from './start-housekeeping.ts'

/**
 * Starts all that no delivery needs: the background's connections, the application behind the public listener, the
 * housekeeping. Resolves to the operator API. Loaded by itself, so that a start takes deliveries before it is.
 * @throws SettingsError for what a person must put right
 */
export async function startRest(foundation: Foundation, front: Front): Promise<OperatorApi> {
  const { background } = foundation.mongo
  await serveApplication(foundation, front)
  await background.open((db) => ensureIndexes(db, [AUDIT_INDEXES, ...REPLAY_INDEXES]))
  addInboxGauges(foundation.registry, () => readInboxDepth(background.db))
  startHousekeeping(foundation)
  return makeOperatorApi(foundation)
}
