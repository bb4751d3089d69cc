import { randomUUID } from 'node:crypto'
import { watchTls } from '@oncehook/kernel/http/server/tls'
import { addLogMetrics } from '@oncehook/kernel/log/log-output'
import { createSummaryLines } from '@oncehook/kernel/log/summary-lines'
import { createDatabaseErrors, type DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { createUnknownKeys } from '@oncehook/kernel/mongo/key-register'
import { createPools } from '@oncehook/kernel/mongo/mongo-connection'
import { createEncryption } from '@oncehook/kernel/secrets/encryption'
import { watchEncryptionKeys } from '@oncehook/kernel/secrets/encryption-keys'
import { watchServiceKeys } from '@oncehook/kernel/secrets/service-keys'
import { createServiceTokens, type ServiceTokens } from '@oncehook/kernel/secrets/service-token'
import type { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { withTimeout } from '@oncehook/kernel/time/waits'
import { Pauses } from '@oncehook/queue/pauses'
import { Registry } from 'prom-client'
import { createApplyEvents, createFulfilmentClient, createTlsFetch } from '../http/fulfilment-client.ts'
import { createProviderStats } from '../inbox/statistics/provider-stats.ts'
import { createGatewayMetrics } from '../metrics.ts'
import { createAudit } from '../operator/audit/audit.ts'
import { watchProviders } from '../webhooks/providers/providers.ts'
import { createRefusals } from '../webhooks/refusals/refusals.ts'
import { type GatewayContext, type GatewayDeps, LIMITS } from './gateway-context.ts'

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
  const serviceKey = watchServiceKeys(deps.settings.serviceKey, deps.logger)
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
    pauses: new Pauses(mongo.accepting.durableDb, 'provider_pauses'),
    handlerPauses: new Pauses(mongo.background.durableDb, 'handler_pauses'),
    serviceKey,
    encryptionKeys,
    encryption: createEncryption(encryptionKeys.current, createUnknownKeys(registry)),
    fulfilmentTls,
    ...createFulfilment({ ...deps, limits, serviceKey, fulfilmentTls }),
    registry,
    shownMetrics: deps.showMetrics?.(registry) ?? registry,
    ...{ metrics, refusals },
    audit: createAudit(mongo.background.durableDb, { ...deps, reading: mongo.operators.durableDb }),
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
  const background = createPool({ appName: 'oncehook-gateway-background', maxPoolSize: 8 })
  return { accepting, background, operators: createPool({ appName: 'oncehook-gateway-operators', maxPoolSize: 8 }) }
}

function createFulfilment(
  deps: GatewayDeps & Pick<GatewayContext, 'serviceKey' | 'fulfilmentTls' | 'limits'>,
): Pick<GatewayContext, 'fulfilment' | 'applyEvents'> {
  const { settings, fulfilmentTls, limits } = deps
  const tokens = createTokens(deps, 'fulfilment')
  // Node's own fetch supports neither custom authorities nor client certificates.
  const fetch = fulfilmentTls.current() === null ? deps.fetch : createTlsFetch(fulfilmentTls.current)
  const fulfilment = createFulfilmentClient(settings.FULFILMENT_URL, tokens, fetch, limits.fulfilmentCallMs)
  return { fulfilment, applyEvents: createApplyEvents(fulfilment) }
}

/** Creates the tokens of calls to a service, signed with the key at the time of the call. */
export function createTokens(
  { serviceKey, clock }: Pick<GatewayContext, 'serviceKey' | 'clock'>,
  audience: string,
): ServiceTokens {
  return createServiceTokens({ issuer: 'gateway', audience, clock, newId: randomUUID, key: serviceKey.current })
}

/** Counts and logs a failure of work that is done periodically. It is done again. */
export function noteFailure({ databaseErrors, logger }: Pick<GatewayContext, 'databaseErrors' | 'logger'>) {
  return (error: unknown): void => {
    databaseErrors.count(error)
    logger.warn({ error }, 'housekeeping.failed')
  }
}

const LAST_WORK_MS = 800

/**
 * Stops a worker that may be interrupted, such as statistics, or work that the next process continues. If an unavailable
 * database delays it, the stop continues without it and still counts as orderly.
 */
export async function stopInTime(worker: { stop(): Promise<void> }): Promise<void> {
  await withTimeout(worker.stop(), LAST_WORK_MS)
}
