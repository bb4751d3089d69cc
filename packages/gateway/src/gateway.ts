import { randomUUID } from 'node:crypto'
import type { Clock } from '@oncehook/kernel/clock'
import { answerBrokenHttp, guardFraming } from '@oncehook/kernel/http/framing-guard'
import { listen } from '@oncehook/kernel/http/listen'
import { createProbes, type ReadinessChecks } from '@oncehook/kernel/http/probes'
import type { Lifecycle } from '@oncehook/kernel/lifecycle'
import type { Logger } from '@oncehook/kernel/logger'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { createServiceTokens } from '@oncehook/kernel/service-token'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { PaymentProcedures } from './dispatch/apply-payments.ts'
import { Dispatcher } from './dispatch/dispatcher.ts'
import { createFulfilmentClient, createPaymentProcedures, type FulfilmentClient } from './dispatch/fulfilment-client.ts'
import { HANDLERS } from './dispatch/handlers.ts'
import { processBatch } from './dispatch/process-batch.ts'
import { createApp } from './http/app.ts'
import { createRateLimit, type RateLimit } from './http/rate-limit.ts'
import { createClaims, type SettledClaim } from './inbox/claims.ts'
import { createDeliveryCounts } from './inbox/delivery-counts.ts'
import { EVENT_INDEXES } from './inbox/event-document.ts'
import { createInbox, type Inbox } from './inbox/inbox.ts'
import { readInboxDepth } from './inbox/inbox-depth.ts'
import { addInboxGauges, createGatewayMetrics, type GatewayMetrics } from './metrics.ts'
import type { GatewaySettings } from './settings.ts'

/** What a gateway is made of besides its settings: everything that tests may want in their own hands. */
export interface GatewayParts {
  readonly settings: GatewaySettings
  readonly logger: Logger
  readonly clock: Clock
  readonly random: () => number
  readonly fetch: typeof globalThis.fetch
}

/** The ports that a started gateway listens on. */
export interface StartedGateway {
  readonly publicPort: number
  readonly adminPort: number
}

const DAY_MS = 86_400_000
const CALL_MS = 10_000
const HOUR_MS = 3_600_000
const COUNT_FLUSH_MS = 1_000

/**
 * Starts a gateway: the admin listener first, so that what is missing can be seen; then the database; the public
 * listener last. Each part adds its stop stage to the lifecycle.
 * @throws SettingsError for what a person must put right
 */
export async function startGateway(parts: GatewayParts, lifecycle: Lifecycle): Promise<StartedGateway> {
  const { settings, logger } = parts
  const metrics = createMetrics()
  const mongo = createConnections(parts, lifecycle)
  const fulfilment = createFulfilment(parts)
  const payments = createPaymentProcedures(fulfilment)
  const checks = { mongodb: mongo.accepting.ping, fulfilment: () => payments.versions(['readiness']) }
  const adminPort = await startAdmin({ ...parts, lifecycle, checks, registry: metrics.registry })

  await mongo.accepting.open((db) => ensureIndexes(db, [EVENT_INDEXES]))
  await mongo.background.open()
  addInboxGauges(metrics.registry, () => readInboxDepth(mongo.background.db))

  const inboxParts = { ...parts, lifecycle, mongo, metrics: metrics.gateway, owner: randomUUID() }
  const dispatcher = startDispatcher(inboxParts, payments)
  const inbox = startInbox(inboxParts, dispatcher)
  const publicPort = await startFront({ ...parts, lifecycle, inbox, fulfilment, metrics: metrics.gateway })
  logger.info({ publicPort, adminPort, providers: [...settings.providers.keys()] }, 'service.started')
  return { publicPort, adminPort }
}

function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return { registry, gateway: createGatewayMetrics(registry) }
}

interface AdminParts extends GatewayParts {
  readonly lifecycle: Lifecycle
  readonly checks: ReadinessChecks
  readonly registry: Registry
}

async function startAdmin({ settings, lifecycle, checks, registry }: AdminParts): Promise<number> {
  const probes = createProbes({ checks, metrics: registry })
  const admin = await listen({
    host: settings.ADMIN_HOST,
    port: settings.ADMIN_PORT,
    handler: (request, response) =>
      void probes(request, response).then((known) => known || response.writeHead(404).end()),
  })
  lifecycle.onStop({ name: 'admin listener', withinMs: 1_000, stop: () => admin.close(500) })
  return admin.port
}

interface InboxParts extends GatewayParts {
  readonly lifecycle: Lifecycle
  readonly mongo: ReturnType<typeof createConnections>
  readonly metrics: GatewayMetrics
  /** Names this process as the holder of claims. */
  readonly owner: string
}

function startDispatcher(parts: InboxParts, payments: PaymentProcedures): Dispatcher {
  const { settings, logger, clock, random, metrics, lifecycle } = parts
  const claims = createClaims({
    db: parts.mongo.background.db,
    owner: parts.owner,
    leaseMs: settings.LEASE_MS,
    retentionMs: settings.EVENT_RETENTION_DAYS * DAY_MS,
    maxStarts: settings.MAX_STARTS,
  })
  const limits = {
    baseMs: settings.RETRY_BASE_MS,
    capMs: settings.RETRY_CAP_MS,
    maxAgeMs: settings.RETRY_MAX_AGE_MS,
    orderUnknownMs: HOUR_MS,
  }
  const dispatcher = new Dispatcher({
    claims,
    process: (batch) => processBatch({ fulfilment: payments, limits, random }, batch),
    clock,
    random,
    logger,
    batchSize: settings.DISPATCH_BATCH,
    concurrency: settings.DISPATCH_CONCURRENCY,
    leaseMs: settings.LEASE_MS,
    onSettled: (settled) => {
      metrics.settled(settled.settlement.state, settled.attempt.outcome)
      logSettled(logger, settled)
    },
    onLost: metrics.lostClaims,
  })
  dispatcher.start()
  lifecycle.onStop({ name: 'dispatcher', withinMs: 4_000, stop: () => dispatcher.stop() })
  return dispatcher
}

function startInbox(
  { settings, logger, clock, mongo, metrics, lifecycle, owner }: InboxParts,
  dispatcher: Dispatcher,
): Inbox {
  const counts = createDeliveryCounts({
    db: mongo.background.db,
    logger,
    flushMs: COUNT_FLUSH_MS,
    onMismatch: metrics.mismatched,
  })
  lifecycle.onStop({ name: 'delivery counts', withinMs: 1_000, stop: () => counts.stop() })
  return createInbox({
    db: mongo.accepting.db,
    owner,
    now: clock.now,
    retentionMs: settings.EVENT_RETENTION_DAYS * DAY_MS,
    isHandled,
    counts,
    admits: () => dispatcher.admits(),
    onClaimed: (claim) => dispatcher.take(claim),
  })
}

interface FrontParts extends GatewayParts {
  readonly lifecycle: Lifecycle
  readonly inbox: Inbox
  readonly fulfilment: FulfilmentClient
  readonly metrics: GatewayMetrics
}

async function startFront({ settings, logger, clock, lifecycle, ...parts }: FrontParts): Promise<number> {
  const limitOf = (name: string, limit: number): RateLimit =>
    createRateLimit({ name, limit, windowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS, clock })
  const app = createApp({
    logger,
    origins: settings.CORS_ORIGINS,
    webhooks: {
      inbox: parts.inbox,
      clock,
      isHandled,
      providers: () => settings.providers,
      logger,
      metrics: parts.metrics,
      limits: {
        failed: limitOf('failed', settings.RATE_LIMIT_FAILED),
        provider: limitOf('provider', settings.RATE_LIMIT_PROVIDER),
      },
      trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
    },
    orders: {
      fulfilment: parts.fulfilment,
      tokens: settings.API_TOKENS,
      maxBodyBytes: settings.MAX_BODY_BYTES,
      limit: limitOf('api', settings.RATE_LIMIT_API),
    },
  })
  const front = await listen({
    host: settings.GATEWAY_HOST,
    port: settings.GATEWAY_PORT,
    handler: guardFraming(app.callback(), randomUUID),
    prepare: (server) => answerBrokenHttp(server, randomUUID),
    headersTimeoutMs: settings.HEADERS_TIMEOUT_MS,
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
  })
  lifecycle.onStop({ name: 'public listener', withinMs: 4_000, stop: () => front.close(3_500) })
  return front.port
}

function isHandled(type: string): boolean {
  return HANDLERS.has(type)
}

/** Two pools, so that a backlog never queues ahead of an accept. */
function createConnections({ settings, logger }: GatewayParts, lifecycle: Lifecycle) {
  const shared = { uri: settings.MONGODB_URI, database: settings.GATEWAY_DB, logger }
  const accepting = createMongoConnection({ ...shared, appName: 'oncehook-gateway-accept', maxPoolSize: 4 })
  const background = createMongoConnection({ ...shared, appName: 'oncehook-gateway-background', maxPoolSize: 8 })
  lifecycle.onStop({
    name: 'mongodb',
    withinMs: 1_500,
    stop: async () => void (await Promise.all([accepting.close(), background.close()])),
  })
  return { accepting, background }
}

function createFulfilment({ settings, clock, fetch }: GatewayParts) {
  const tokens = createServiceTokens({
    secret: settings.SERVICE_TOKEN_SECRET,
    issuer: 'gateway',
    audience: 'fulfilment',
    clock,
  })
  return createFulfilmentClient({ url: settings.FULFILMENT_URL, tokens, fetch, timeoutMs: CALL_MS })
}

function logSettled(logger: Logger, { claim, settlement, attempt }: SettledClaim): void {
  const line = {
    requestId: claim.requestId,
    provider: claim.provider,
    eventId: claim.event.id.slice(0, 64),
    type: claim.event.type,
    orderId: claim.event.facts.orderId.slice(0, 64),
    outcome: attempt.outcome,
    code: attempt.code,
    ms: attempt.ms,
  }
  if (settlement.state === 'done') logger.info(line, 'event.settled')
  else if (settlement.state === 'dead') logger.error({ ...line, reason: settlement.reason }, 'event.dead')
  else logger.warn({ ...line, delayMs: settlement.delayMs }, 'event.deferred')
}
