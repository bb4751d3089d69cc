import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock } from '@oncehook/kernel/clock'
import { guardFraming } from '@oncehook/kernel/http/framing-guard'
import { listen } from '@oncehook/kernel/http/listen'
import { logRefused } from '@oncehook/kernel/http/log-refused'
import { createProbes } from '@oncehook/kernel/http/probes'
import type { Lifecycle } from '@oncehook/kernel/lifecycle'
import { addLogMetrics } from '@oncehook/kernel/log-metrics'
import type { LogOutput } from '@oncehook/kernel/log-output'
import type { Logger } from '@oncehook/kernel/logger'
import { createDatabaseErrors, type DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createMongoConnection, type MongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { createServiceTokenVerifier } from '@oncehook/kernel/service-token'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { createApp } from './http/app.ts'
import { createIdempotencyKeys, IDEMPOTENCY_INDEXES } from './idempotency-keys.ts'
import { addReceiptGauges, createFulfilmentMetrics, type FulfilmentMetrics } from './metrics.ts'
import { createOrderId } from './orders/order.ts'
import { ORDER_INDEXES, ORDERS, type OrderDocument } from './orders/order-document.ts'
import { readReceiptBacklog } from './receipts/receipt-backlog.ts'
import { createReceiptClaims } from './receipts/receipt-claims.ts'
import { ReceiptWorker } from './receipts/receipt-worker.ts'
import { createReceiptSink } from './receipts/sinks/receipt-sinks.ts'
import type { FulfilmentSettings } from './settings.ts'
import type { UseCases } from './use-cases.ts'

/** What fulfilment is made of besides its settings: everything that tests may want in their own hands. */
export interface FulfilmentParts {
  readonly settings: FulfilmentSettings
  readonly logger: Logger
  /** Where the lines go, for the count of those that it lost. */
  readonly logOutput?: LogOutput
  readonly clock: Clock
  readonly random: () => number
  /** By which receipts are posted. */
  readonly fetch: typeof globalThis.fetch
  /** Milliseconds that a run holds an idempotency key: longer than any request. */
  readonly keyLeaseMs: number
  /** Milliseconds that a worker holds a receipt: longer than a batch of attempts. */
  readonly receiptLeaseMs: number
}

const SEND_TIMEOUT_MS = 4_000
const RECEIPT_BACKOFF = { baseMs: 2_000, capMs: 900_000 }

/**
 * Starts fulfilment: the listener first, which says that it is not ready; then the database and its indexes; then the
 * receipt worker. Each part adds its stop stage to the lifecycle.
 * @throws SettingsError for what a person must put right
 */
export async function openFulfilment(parts: FulfilmentParts, lifecycle: Lifecycle): Promise<{ port: number }> {
  const { settings, logger } = parts
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addLogMetrics(registry, parts.logOutput)
  const metrics = createFulfilmentMetrics(registry)
  const errors = createDatabaseErrors(registry)
  const mongo = createConnections(parts, { lifecycle, errors })
  const worker = createWorker(parts, { metrics, errors, mongo: mongo.background, lifecycle })
  const useCases = createUseCases(parts, { metrics, errors, mongo: mongo.serving, onApplied: () => worker.nudge() })

  let ready = false
  const port = await startListener(parts, {
    registry,
    metrics,
    errors,
    ping: async () => void (await Promise.all([mongo.serving.ping(), mongo.background.ping()])),
    useCases,
    isReady: () => ready,
    lifecycle,
  })
  // Before the listener waits for its calls: a slow database leaves the worker little time to write its outcomes.
  lifecycle.onStop({ name: 'receipt claims', withinMs: 100, stop: () => worker.beginStop() })
  await mongo.serving.open((db) => ensureIndexes(db, [ORDER_INDEXES, IDEMPOTENCY_INDEXES]))
  await mongo.background.open()
  ready = true
  addReceiptGauges(registry, () => readReceiptBacklog(mongo.background.db.collection<OrderDocument>(ORDERS)))
  worker.start()
  logger.info({ port, database: settings.FULFILMENT_DB }, 'service.started')
  return { port }
}

/** Two pools, so that receipts never queue ahead of a call. */
function createConnections(
  { settings, logger }: FulfilmentParts,
  { lifecycle, errors }: Pick<WorkerParts, 'lifecycle' | 'errors'>,
) {
  const { MONGODB_URI: uri, readMongoUri: readUri, FULFILMENT_DB: database } = settings
  const shared = { uri, readUri, database, logger, errors }
  const serving: MongoConnection = createMongoConnection({
    ...{ ...shared, appName: 'oncehook-fulfilment', maxPoolSize: 16 },
    onSignedOut: () => background.renew(),
  })
  const background = createMongoConnection({
    ...{ ...shared, appName: 'oncehook-fulfilment-receipts', maxPoolSize: 4 },
    onSignedOut: () => serving.renew(),
  })
  lifecycle.onStop({
    name: 'mongodb',
    withinMs: 1_000,
    stop: async () => void (await Promise.all([serving.close(), background.close()])),
  })
  return { serving, background }
}

interface WorkerParts {
  readonly metrics: FulfilmentMetrics
  readonly errors: DatabaseErrors
  readonly mongo: MongoConnection
  readonly lifecycle: Lifecycle
}

function createWorker(parts: FulfilmentParts, { metrics, errors, mongo, lifecycle }: WorkerParts): ReceiptWorker {
  const { settings, logger, logOutput, random, fetch, receiptLeaseMs: leaseMs } = parts
  const sink = createReceiptSink(settings.RECEIPT_SINK, { logger, logOutput, fetch, from: settings.RECEIPT_FROM })
  const worker = new ReceiptWorker({
    claims: errors.watch(createReceiptClaims(mongo.db, { leaseMs, newClaimId: randomUUID })),
    sink,
    backoff: RECEIPT_BACKOFF,
    sendTimeoutMs: SEND_TIMEOUT_MS,
    leaseMs,
    random,
    logger,
    onSettled: metrics.receipt,
  })
  lifecycle.onStop({ name: 'receipt sink', withinMs: 500, stop: () => sink.close() })
  lifecycle.onStop({ name: 'receipt worker', withinMs: SEND_TIMEOUT_MS + 1_000, stop: () => worker.stop() })
  return worker
}

interface UseCaseParts extends Pick<WorkerParts, 'metrics' | 'errors' | 'mongo'> {
  readonly onApplied: () => void
}

function createUseCases(parts: FulfilmentParts, { metrics, errors, mongo, onApplied }: UseCaseParts): UseCases {
  const { settings, logger, clock, random } = parts
  const { db } = mongo
  const times = { ttlMs: settings.IDEMPOTENCY_TTL_SECONDS * 1_000, leaseMs: parts.keyLeaseMs }
  return {
    orders: {
      orders: db.collection<OrderDocument>(ORDERS),
      keys: createIdempotencyKeys(db, times),
      random,
      logger,
      newOrderId: () => createOrderId(randomBytes),
      newRunId: randomUUID,
    },
    payments: { db, errors, clock, logger, newCallId: randomUUID, onApplied },
    countVerdict: metrics.verdict,
  }
}

interface ListenerParts extends Omit<WorkerParts, 'mongo'> {
  /** Throws unless calls and receipts can be written now. */
  readonly ping: () => Promise<void>
  readonly registry: Registry
  readonly useCases: UseCases
  readonly isReady: () => boolean
}

async function startListener(parts: FulfilmentParts, listener: ListenerParts): Promise<number> {
  const { settings, logger, clock } = parts
  const { ping, registry, metrics, errors, useCases, isReady, lifecycle } = listener
  const app = createApp({
    probes: createProbes({ checks: { mongodb: ping }, metrics: registry }),
    verifyToken: createServiceTokenVerifier({ secret: settings.SERVICE_TOKEN_SECRET, audience: 'fulfilment', clock }),
    useCases,
    isReady,
    logger,
    metrics,
    errors,
  })
  const opened = await listen({
    host: settings.FULFILMENT_HOST,
    port: settings.FULFILMENT_PORT,
    ...guardFraming({
      handler: app,
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
    maxConnections: settings.MAX_CONNECTIONS,
  })
  lifecycle.onStop({ name: 'listener', withinMs: 3_000, stop: () => opened.close(2_500) })
  return opened.port
}
