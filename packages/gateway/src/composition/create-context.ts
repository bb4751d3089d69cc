import { randomUUID } from 'node:crypto'
import { watchTls } from '@oncehook/kernel/http/server/tls'
import { addLogMetrics } from '@oncehook/kernel/log/log-output'
import { createDatabaseErrors, type DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { createUnknownKeys } from '@oncehook/kernel/mongo/key-register'
import { createPools } from '@oncehook/kernel/mongo/mongo-connection'
import { createEncryption } from '@oncehook/kernel/secrets/encryption'
import { watchEncryptionKeys } from '@oncehook/kernel/secrets/encryption-keys'
import { watchServiceKeys } from '@oncehook/kernel/secrets/service-keys'
import type { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { Registry } from 'prom-client'
import { createHandlerPauses } from '../inbox/pauses/handler-pauses.ts'
import { createProviderPauses } from '../inbox/pauses/provider-pauses.ts'
import { createProviderStats } from '../inbox/statistics/provider-stats.ts'
import { createGatewayMetrics } from '../metrics.ts'
import { createAudit } from '../operator/audit/audit.ts'
import { watchProviders } from '../providers/watched-providers.ts'
import { createRefusals } from '../refusals/refusals.ts'
import { createSummaryLines } from '../summary-lines.ts'
import { createFulfilment } from './create-fulfilment.ts'
import { type GatewayContext, type GatewayDeps, LIMITS } from './gateway-context.ts'
import { stopInTime } from './stop-in-time.ts'

const STATS_FLUSH_MS = 1_000

/** Creates the context that every stage needs. It opens no connection. */
export function createContext(deps: GatewayDeps, lifecycle: Lifecycle): GatewayContext {
  // The stages stop in the reverse order: what they count until then is in a line too.
  const summaries = createSummaryLines()
  lifecycle.onStop({ name: 'log summaries', withinMs: 100, stop: summaries.end })
  const registry = new Registry()
  addLogMetrics(registry, deps.logOutput)
  const databaseErrors = createDatabaseErrors(registry)
  const mongo = createConnections(deps, { lifecycle, errors: databaseErrors })
  const stats = createProviderStats(mongo.background.db, deps.logger, STATS_FLUSH_MS)
  const metrics = createGatewayMetrics(registry, stats.add)
  const providers = watchProviders(deps.settings.providers, deps.logger)
  const refusals = createRefusals({
    ...{ db: mongo.background.db, clock: deps.clock, logger: deps.logger, flushMs: STATS_FLUSH_MS },
    providers: providers.current,
    onNotKept: metrics.refusalNotKept,
  })
  const serviceKeys = watchServiceKeys(deps.settings.serviceKeys, deps.logger)
  const encryptionKeys = watchEncryptionKeys(deps.settings.encryptionKeys, deps.logger)
  const fulfilmentTls = watchTls(deps.settings.fulfilmentTls, { prefix: 'FULFILMENT_TLS', logger: deps.logger })
  // Together, so that an unavailable database delays the stop once.
  const stopWriting = async () => void (await Promise.all([stopInTime(stats), stopInTime(refusals)]))
  lifecycle.onStop({ name: 'provider stats', withinMs: 1_000, stop: stopWriting })
  const limits = { ...LIMITS, ...deps.limits }
  return {
    ...deps,
    ...{ limits, lifecycle, summaries },
    providers,
    owner: randomUUID(),
    mongo,
    pauses: createProviderPauses(mongo.accepting.durableDb),
    handlerPauses: createHandlerPauses(mongo.background.durableDb),
    serviceKeys,
    encryptionKeys,
    encryption: createEncryption(encryptionKeys.current, createUnknownKeys(registry)),
    fulfilmentTls,
    ...createFulfilment({ ...deps, limits, serviceKeys, fulfilmentTls }),
    registry,
    shownMetrics: deps.showMetrics?.(registry) ?? registry,
    ...{ metrics, refusals },
    audit: createAudit(mongo.background.durableDb, deps),
    databaseErrors,
  }
}

function createConnections(
  { settings, logger }: GatewayDeps,
  { lifecycle, errors }: { readonly lifecycle: Lifecycle; readonly errors: DatabaseErrors },
): GatewayContext['mongo'] {
  const { MONGODB_URI: uri, GATEWAY_DB: database } = settings
  const createPool = createPools({ uri, database, logger, errors, lifecycle, closedWithinMs: 1_500 })
  const accepting = createPool({ appName: 'oncehook-gateway-accept', maxPoolSize: 4 })
  return { accepting, background: createPool({ appName: 'oncehook-gateway-background', maxPoolSize: 8 }) }
}
