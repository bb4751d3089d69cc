import type { KeyObject } from 'node:crypto'
import { randomUUID } from 'node:crypto'
import type { ShownMetrics } from '@oncehook/kernel/http/server/probes'
import { type ClientTls, watchTls } from '@oncehook/kernel/http/server/tls'
import { addLogMetrics, type LogOutput } from '@oncehook/kernel/log/log-output'
import type { Logger } from '@oncehook/kernel/log/logger'
import { createDatabaseErrors, type DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { createUnknownKeys } from '@oncehook/kernel/mongo/key-register'
import { createPools } from '@oncehook/kernel/mongo/mongo-connection'
import { createEncryption } from '@oncehook/kernel/secrets/encryption'
import { watchEncryptionKeys } from '@oncehook/kernel/secrets/encryption-keys'
import { watchServiceKeys } from '@oncehook/kernel/secrets/service-keys'
import { createServiceTokens, type ServiceTokens } from '@oncehook/kernel/secrets/service-token'
import type { WatchedSource } from '@oncehook/kernel/settings/file-source'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { withTimeout } from '@oncehook/kernel/time/waits'
import type { Claims } from '@oncehook/queue/claim/claims'
import type { Send } from '@oncehook/queue/dispatch/send'
import { Pauses } from '@oncehook/queue/pauses'
import type { Db } from 'mongodb'
import { Registry } from 'prom-client'
import { createApplyEvents, createFulfilmentClient, createTlsFetch } from '../http/fulfilment-client.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { createMinutes } from '../inbox/statistics/minutes.ts'
import { createProviderStats } from '../inbox/statistics/provider-stats.ts'
import { createGatewayMetrics } from '../metrics.ts'
import { createAudit } from '../operator/audit/audit.ts'
import { watchProviders } from '../webhooks/providers/providers.ts'
import { createRefusals } from '../webhooks/refusals/refusals.ts'
import type { GatewaySettings } from './settings.ts'

/** What is fixed in production. Tests use shorter times and smaller numbers. */
export interface Limits {
  readonly rateWindowSeconds: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** The longest wait of a request from its first octet. */
  readonly answerWithinMs: number
  /** The events of a call to fulfilment. */
  readonly dispatchBatch: number
  readonly fulfilmentCallMs: number
}

const LIMITS: Limits = {
  rateWindowSeconds: 10,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  // Half a second of 10 s is left for the answer itself.
  answerWithinMs: 9_500,
  dispatchBatch: 500,
  fulfilmentCallMs: 10_000,
}

/** The settings of a gateway, and the dependencies that tests can replace. */
export interface GatewayDeps {
  readonly settings: GatewaySettings
  readonly logger: Logger
  /** The output of the logger, which counts the lines that it lost. */
  readonly logOutput?: LogOutput
  readonly clock: Clock
  /** Measures intervals, in milliseconds on a clock that is never set back. Default: that of the process. */
  readonly monotonicMs?: () => number
  readonly random: () => number
  readonly fetch: typeof globalThis.fetch
  /** Finds the folder of the built files of the operator's page. Null if there is none. Default: none. */
  readonly findConsole?: () => string | null
  /** Returns the metrics that the endpoint shows instead of this process's own. */
  readonly showMetrics?: (own: Registry) => ShownMetrics
  /** Default: `LIMITS`. */
  readonly limits?: Partial<Limits> | undefined
  /** Records the steps of the protocol, for tests. Default: nothing is recorded. */
  readonly recording?: Recording | undefined
}

const STATS_FLUSH_MS = 1_000

/** The context that all stages of the start share: the dependencies, and everything that is created from them. */
export type GatewayContext = ReturnType<typeof createContext>

/** Creates the context. It opens no connection. */
export function createContext(deps: GatewayDeps, lifecycle: Lifecycle) {
  const registry = new Registry()
  addLogMetrics(registry, deps.logOutput)
  const databaseErrors = createDatabaseErrors(registry)
  const mongo = createConnections(deps, { lifecycle, errors: databaseErrors })
  const stats = createProviderStats(mongo.background.db, deps.logger, STATS_FLUSH_MS)
  const metrics = createGatewayMetrics(registry, stats.add)
  const onError = noteFailure({ databaseErrors, logger: deps.logger })
  const minutes = createMinutes({ db: mongo.background.db, registry, clock: deps.clock, onError })
  const providers = watchProviders(deps.settings.providers, deps.logger)
  const refusals = createRefusals({
    ...{ db: mongo.background.db, clock: deps.clock, logger: deps.logger, flushMs: STATS_FLUSH_MS },
    onNotKept: metrics.refusalNotKept,
  })
  const serviceKey = watchServiceKeys(deps.settings.serviceKey, deps.logger)
  const encryptionKeys = watchEncryptionKeys(deps.settings.encryptionKeys, deps.logger)
  const fulfilmentTls = watchTls(deps.settings.fulfilmentTls, { prefix: 'FULFILMENT_TLS', logger: deps.logger })
  // Together, so that an unavailable database delays the stop once.
  const stopWriting = async () => void (await Promise.all([stats, refusals, minutes].map(stopInTime)))
  lifecycle.onStop({ name: 'provider stats', withinMs: 1_000, stop: stopWriting })
  const limits = { ...LIMITS, ...deps.limits }
  return {
    ...deps,
    ...{ limits, lifecycle },
    providers,
    /** The name of all claims that this process makes on insert. Others each have a name of their own. */
    owner: randomUUID(),
    mongo,
    pauses: new Pauses(mongo.accepting.durableDb, 'provider_pauses'),
    /** The pauses of handlers, as this process knows them. Nobody reads them unless handlers are configured. */
    handlerPauses: new Pauses(mongo.background.durableDb, 'handler_pauses'),
    serviceKey,
    encryptionKeys,
    encryption: createEncryption(encryptionKeys.current, createUnknownKeys(registry)),
    fulfilmentTls,
    ...createFulfilment(deps, limits.fulfilmentCallMs, { serviceKey, fulfilmentTls }),
    registry,
    shownMetrics: deps.showMetrics?.(registry) ?? registry,
    ...{ metrics, refusals, minutes },
    audit: createAudit(mongo.background.durableDb, { ...deps, reading: mongo.operators.durableDb }),
    databaseErrors,
  }
}

/**
 * Three pools, so that a backlog never delays a delivery, and an operator delays neither. That of operators connects when the first one
 * asks.
 */
function createConnections(
  { settings, logger }: GatewayDeps,
  { lifecycle, errors }: { readonly lifecycle: Lifecycle; readonly errors: DatabaseErrors },
) {
  const { MONGODB_URI: uri, GATEWAY_DB: database } = settings
  const createPool = createPools({ uri, database, logger, errors, lifecycle, closedWithinMs: 1_500 })
  const accepting = createPool({ appName: 'oncehook-gateway-accept', maxPoolSize: 4 })
  const background = createPool({ appName: 'oncehook-gateway-background', maxPoolSize: 8 })
  return { accepting, background, operators: createPool({ appName: 'oncehook-gateway-operators', maxPoolSize: 8 }) }
}

interface Watched {
  readonly serviceKey: WatchedSource<KeyObject>
  readonly fulfilmentTls: WatchedSource<ClientTls | null>
}

function createFulfilment(deps: GatewayDeps, callMs: number, { serviceKey, fulfilmentTls }: Watched) {
  const tokens = createTokens({ serviceKey, clock: deps.clock }, 'fulfilment')
  // Node's own fetch supports neither custom authorities nor client certificates.
  const fetch = fulfilmentTls.current() === null ? deps.fetch : createTlsFetch(fulfilmentTls.current)
  const fulfilment = createFulfilmentClient(deps.settings.FULFILMENT_URL, tokens, fetch, callMs)
  return { fulfilment, applyEvents: createApplyEvents(fulfilment) }
}

/** Creates the tokens of calls to a service, signed with the key at the time of the call. */
export function createTokens(
  { serviceKey, clock }: Pick<Watched, 'serviceKey'> & Pick<GatewayDeps, 'clock'>,
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

/**
 * Records the steps of the protocol, so that a test can compare them with the model in `docs/model`. Each function
 * returns the same part, which also records its steps. In production there is no recording, and no part is replaced.
 */
export interface Recording {
  /** The inserts of records, as the commands and the replies have them. */
  inserts(db: Db): Db
  /** The answers to deliveries. */
  answers(inbox: Inbox): Inbox
  /** Claims, takeovers, settlements and releases. */
  claims(claims: Claims): Claims
  /** The calls to fulfilment and their results. */
  calls(send: Send): Send
}
