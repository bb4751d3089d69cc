import { randomUUID } from 'node:crypto'
import { createEncryption } from '@oncehook/kernel/encryption'
import { watchEncryptionKeys } from '@oncehook/kernel/encryption-keys'
import { watchTls } from '@oncehook/kernel/http/tls/tls-sources'
import type { Lifecycle } from '@oncehook/kernel/lifecycle'
import { addLogMetrics } from '@oncehook/kernel/log-metrics'
import { createMongoConnection } from '@oncehook/kernel/mongo/connection/mongo-connection'
import { RenewalGroup } from '@oncehook/kernel/mongo/connection/renewal-group'
import { createDatabaseErrors, type DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { createUnknownKeys } from '@oncehook/kernel/unknown-keys'
import { watchServiceKeys } from '@oncehook/kernel/watch-service-keys'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { createProviderStats } from '../inbox/statistics/provider-stats.ts'
import { createGatewayMetrics } from '../metrics.ts'
import { createAudit } from '../operator/audit/audit.ts'
import { watchProviders } from '../providers/watched-providers.ts'
import type { Foundation, GatewayParts } from './gateway-parts.ts'
import { loadFulfilment } from './load-fulfilment.ts'
import { stopInTime } from './stop-in-time.ts'

const TALLY_FLUSH_MS = 1_000

/** Creates the context that every stage needs. It opens no connection. */
export function layFoundation(parts: GatewayParts, lifecycle: Lifecycle): Foundation {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addLogMetrics(registry, parts.logOutput)
  const databaseErrors = createDatabaseErrors(registry)
  const mongo = createConnections(parts, { lifecycle, errors: databaseErrors })
  const tallies = createProviderStats(mongo.background.db, parts.logger, TALLY_FLUSH_MS)
  const serviceKeys = watchServiceKeys(parts.settings.serviceKeys, parts.logger)
  const encryptionKeys = watchEncryptionKeys(parts.settings.encryptionKeys, parts.logger)
  const fulfilmentTls = watchTls(parts.settings.fulfilmentTls, { prefix: 'FULFILMENT_TLS', logger: parts.logger })
  lifecycle.onStop({ name: 'tallies', withinMs: 1_000, stop: () => stopInTime(tallies) })
  return {
    ...parts,
    lifecycle,
    providers: watchProviders(parts.settings.providers, parts.logger),
    owner: randomUUID(),
    mongo,
    serviceKeys,
    encryptionKeys,
    encryption: createEncryption(encryptionKeys.current, createUnknownKeys(registry)),
    fulfilmentTls,
    ...loadFulfilment({ ...parts, serviceKeys, fulfilmentTls }),
    registry,
    metrics: createGatewayMetrics(registry, tallies.add),
    audit: createAudit(mongo.background.durableDb, parts),
    databaseErrors,
  }
}

function createConnections(
  { settings, logger }: GatewayParts,
  { lifecycle, errors }: { readonly lifecycle: Lifecycle; readonly errors: DatabaseErrors },
): Foundation['mongo'] {
  const { MONGODB_URI: uri, readMongoUri: readUri, GATEWAY_DB: database } = settings
  const group = new RenewalGroup({ logger, database })
  const shared = { uri, readUri, database, logger, errors, group }
  const accepting = createMongoConnection({ ...shared, appName: 'oncehook-gateway-accept', maxPoolSize: 4 })
  const background = createMongoConnection({ ...shared, appName: 'oncehook-gateway-background', maxPoolSize: 8 })
  lifecycle.onStop({
    name: 'mongodb',
    withinMs: 1_500,
    stop: async () => void (await Promise.all([accepting.close(), background.close()])),
  })
  return { accepting, background }
}
