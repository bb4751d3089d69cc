import { randomBytes, randomUUID } from 'node:crypto'
import { createEncryption, type Encryption } from '@oncehook/kernel/encryption'
import { CHECK_ENCRYPTION_KEYS_MS, watchEncryptionKeys } from '@oncehook/kernel/encryption-keys'
import type { Lifecycle } from '@oncehook/kernel/lifecycle'
import { addLogMetrics } from '@oncehook/kernel/log-metrics'
import { addClockSkewGauge } from '@oncehook/kernel/mongo/clock-skew'
import { createPools } from '@oncehook/kernel/mongo/connection/create-pools'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureFormat } from '@oncehook/kernel/mongo/database-format'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createKeyRegister, type KeyRegister } from '@oncehook/kernel/mongo/key-register'
import { addMissingKeysGauge } from '@oncehook/kernel/mongo/missing-keys'
import { createUnknownKeys } from '@oncehook/kernel/unknown-keys'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { type FulfilmentParts, keepMsOf, type WorkerParts } from './composition/fulfilment-parts.ts'
import { startHousekeeping } from './composition/start-housekeeping.ts'
import { startListener } from './composition/start-listener.ts'
import {
  createIdempotencyKeys,
  IDEMPOTENCY_INDEXES,
  IDEMPOTENCY_KEYS,
  type IdempotencyRow,
} from './idempotency-keys.ts'
import { addReceiptGauges, createFulfilmentMetrics } from './metrics.ts'
import { createOrderId } from './orders/order.ts'
import { ORDER_INDEXES, ORDERS, type OrderDocument } from './orders/stored/order-document.ts'
import { createUnreadableOrders } from './orders/unreadable-orders.ts'
import type { ReceiptOutbox } from './receipts/claims/new-receipts.ts'
import { createReceiptClaims } from './receipts/claims/receipt-claims.ts'
import { readReceiptBacklog } from './receipts/receipt-backlog.ts'
import { ReceiptWorker } from './receipts/receipt-worker.ts'
import { createReceiptSink } from './receipts/sinks/receipt-sinks.ts'
import type { UseCases } from './use-cases.ts'

const SEND_TIMEOUT_MS = 4_000
const RECEIPT_BACKOFF = { baseMs: 2_000, capMs: 900_000 }

/**
 * Starts fulfilment: first the listener, which reports not ready; then, after the check of the receipt sink, the
 * database and its indexes; then the receipt worker. Each part registers its stop stage with the lifecycle.
 * @throws SettingsError for a setting that an operator must correct
 */
export async function openFulfilment(parts: FulfilmentParts, lifecycle: Lifecycle): Promise<{ port: number }> {
  const { settings, logger } = parts
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addLogMetrics(registry, parts.logOutput)
  const metrics = createFulfilmentMetrics(registry)
  const errors = createDatabaseErrors(registry)
  const mongo = createConnections(parts, { lifecycle, errors })
  const onKeyUnknown = createUnknownKeys(registry)
  const encryption = startEncryption(parts, lifecycle, { onChanged: () => worker.nudge(), onKeyUnknown })
  const { worker, sink } = createWorker(parts, { metrics, errors, mongo: mongo.background, lifecycle, encryption })
  const register = createKeyRegister({
    db: mongo.serving.db,
    encryption,
    now: () => performance.now(),
    processId: randomUUID(),
  })
  const useCases = createUseCases(parts, {
    ...{ metrics, errors, mongo: mongo.serving, receipts: worker, encryption, register },
  })

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
  await sink.check?.()
  // Stopped before the listener waits for its calls, because a slow database leaves the worker little time to write
  // its outcomes.
  lifecycle.onStop({ name: 'receipt claims', withinMs: 100, stop: () => worker.beginStop() })
  await mongo.serving.open(async (db) => {
    await ensureFormat(db, { collection: ORDERS, setting: 'FULFILMENT_DB' })
    await ensureIndexes(db, [ORDER_INDEXES, IDEMPOTENCY_INDEXES])
  })
  await mongo.background.open()
  // Anything started after this point would not be stopped.
  if (lifecycle.isStopping) return { port }
  ready = true
  addClockSkewGauge(registry, { db: mongo.background.db, clock: parts.clock })
  addMissingKeysGauge(registry, register)
  addReceiptGauges(registry, () => readReceiptBacklog(mongo.background.db.collection<OrderDocument>(ORDERS)))
  worker.start()
  startHousekeeping(parts, { errors, mongo: mongo.background, lifecycle, register, encryption })
  logger.info({ port, database: settings.FULFILMENT_DB }, 'service.started')
  return { port }
}

interface EncryptionListeners {
  readonly onChanged: () => void
  readonly onKeyUnknown: () => void
}

/** Watches the key file until the service stops. */
function startEncryption(
  { settings, logger }: FulfilmentParts,
  lifecycle: Lifecycle,
  { onChanged, onKeyUnknown }: EncryptionListeners,
): Encryption {
  const keys = watchEncryptionKeys(settings.encryptionKeys, logger, onChanged)
  const checking = setInterval(() => keys.check(), CHECK_ENCRYPTION_KEYS_MS).unref()
  lifecycle.onStop({ name: 'encryption keys', withinMs: 100, stop: async () => clearInterval(checking) })
  return createEncryption(keys.current, onKeyUnknown)
}

/** Two connection pools, so that receipts never queue ahead of calls. */
function createConnections(
  { settings, logger }: FulfilmentParts,
  { lifecycle, errors }: Pick<WorkerParts, 'lifecycle' | 'errors'>,
) {
  const { MONGODB_URI: uri, FULFILMENT_DB: database } = settings
  const createPool = createPools({ uri, database, logger, errors, lifecycle, closedWithinMs: 1_500 })
  const serving = createPool({ appName: 'oncehook-fulfilment', maxPoolSize: 16 })
  return { serving, background: createPool({ appName: 'oncehook-fulfilment-receipts', maxPoolSize: 4 }) }
}

function createWorker(parts: FulfilmentParts, { metrics, errors, mongo, lifecycle, encryption }: WorkerParts) {
  const { settings, logger, logOutput, clock, random, fetch, receiptLeaseMs: leaseMs } = parts
  const { RECEIPT_FROM: from, RECEIPT_SECRET: keys = [] } = settings
  const sink = createReceiptSink(settings.RECEIPT_SINK, { logger, logOutput, fetch, clock, from, keys })
  const claimOptions = { leaseMs, maxWaitMs: RECEIPT_BACKOFF.capMs, newClaimId: randomUUID, keepMs: keepMsOf(settings) }
  const worker = new ReceiptWorker({
    claims: errors.watch(createReceiptClaims(mongo.db, claimOptions)),
    sink,
    encryption,
    backoff: RECEIPT_BACKOFF,
    sendTimeoutMs: SEND_TIMEOUT_MS,
    leaseMs,
    random,
    logger,
    onSettled: metrics.receipt,
  })
  lifecycle.onStop({ name: 'receipt sink', withinMs: 500, stop: () => sink.close() })
  lifecycle.onStop({ name: 'receipt worker', withinMs: SEND_TIMEOUT_MS + 1_000, stop: () => worker.stop() })
  return { worker, sink }
}

interface UseCaseParts extends Pick<WorkerParts, 'metrics' | 'errors' | 'mongo' | 'encryption'> {
  readonly register: KeyRegister
  readonly receipts: ReceiptOutbox
}

function createUseCases(parts: FulfilmentParts, useCaseParts: UseCaseParts): UseCases {
  const { metrics, errors, mongo, receipts, encryption, register } = useCaseParts
  const { settings, logger, clock, random, recording } = parts
  const { db } = mongo
  const times = { ttlMs: settings.IDEMPOTENCY_TTL_SECONDS * 1_000, leaseMs: parts.keyLeaseMs }
  const orders = db.collection<OrderDocument>(ORDERS)
  return {
    orders: {
      orders,
      encryption,
      keys: createIdempotencyKeys(db, { ...times, encryption }),
      random,
      logger,
      unreadable: createUnreadableOrders(logger, () => performance.now()),
      newOrderId: () => createOrderId(randomBytes),
      newRunId: randomUUID,
    },
    recording,
    payments: { db, errors, clock, logger, newCallId: randomUUID, receipts },
    erasures: {
      ...{
        orders,
        keys: db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS),
        keyTtlMs: times.ttlMs,
        encryption,
        logger,
      },
    },
    encryption: { db, encryption, logger, register },
    countResult: metrics.verdict,
  }
}
