import { CHECK_TLS_MS } from '@oncehook/kernel/http/server/tls'
import type { KeyRegister } from '@oncehook/kernel/mongo/key-register'
import { CHECK_ENCRYPTION_KEYS_MS } from '@oncehook/kernel/secrets/encryption-keys'
import { CHECK_KEYS_MS } from '@oncehook/kernel/secrets/service-keys'
import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { removeUnusedBodies } from '../inbox/retention/remove-unused-bodies.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import { stripOldBodies } from '../inbox/retention/strip-old-bodies.ts'
import { findExpiringSecrets } from '../operator/expiring-secrets.ts'
import type { GatewayContext } from './gateway-context.ts'

const HOUR_MS = 3_600_000
const CHECK_FILES_MS = 1_000

/** Periodic work. Each part runs until it is stopped. */
export type Housekeeping = readonly { stop(): Promise<void> }[]

/**
 * Starts the work that is independent of single deliveries: reloads of changed provider and key files, removal of bodies
 * at the end of their retention, and warnings about secrets that expire soon.
 */
export function startHousekeeping(context: GatewayContext, keyRegister: KeyRegister): Housekeeping {
  const { providers, serviceKeys, encryptionKeys, fulfilmentTls, mongo, databaseErrors } = context
  const { logger, clock, random } = context
  const onError = (error: unknown): void => {
    databaseErrors.count(error)
    logger.warn({ error }, 'housekeeping.failed')
  }
  const { db } = mongo.background
  const retention = readRetention(context.settings)
  const warn = async (): Promise<void> => {
    const expiring = await findExpiringSecrets(db, providers.current(), clock.now())
    for (const secret of expiring) logger.warn(secret, 'secret.expires-soon')
  }
  return [
    runPeriodically({ task: async () => providers.check(), everyMs: CHECK_FILES_MS, random, onError }),
    runPeriodically({ task: async () => serviceKeys.check(), everyMs: CHECK_KEYS_MS, random, onError }),
    runPeriodically({ task: async () => encryptionKeys.check(), everyMs: CHECK_ENCRYPTION_KEYS_MS, random, onError }),
    runPeriodically({ task: () => keyRegister.check(), everyMs: CHECK_ENCRYPTION_KEYS_MS, random, onError }),
    runPeriodically({ task: async () => fulfilmentTls.check(), everyMs: CHECK_TLS_MS, random, onError }),
    runPeriodically({ task: (stopping) => stripOldBodies(db, retention, stopping), everyMs: HOUR_MS, random, onError }),
    runPeriodically({ task: (stopping) => removeUnusedBodies(db, stopping), everyMs: HOUR_MS, random, onError }),
    runPeriodically({ task: warn, everyMs: HOUR_MS, random, onError }),
  ]
}
