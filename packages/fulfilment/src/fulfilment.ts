// The parts of a running fulfilment, how they are connected, and the order of their start and stop. The listener opens first and
// says that it is not ready, because an orchestrator asks at once; the receipt worker starts last, because it needs all the others. Each
// part registers how it stops where it is created, and the lifecycle stops the last one first.
import { randomUUID } from 'node:crypto'
import { guardFraming } from '@oncehook/kernel/http/server/framing-guard'
import { listen } from '@oncehook/kernel/http/server/listen'
import { ownNames } from '@oncehook/kernel/http/server/own-names'
import { createProbes, openMetricsListener } from '@oncehook/kernel/http/server/probes'
import { logRefused } from '@oncehook/kernel/http/server/send-error'
import { watchTls } from '@oncehook/kernel/http/server/tls'
import { addLogMetrics, type LogOutput } from '@oncehook/kernel/log/log-output'
import type { Logger } from '@oncehook/kernel/log/logger'
import { addClockSkewGauge } from '@oncehook/kernel/mongo/database-clock'
import { createDatabaseErrors, type DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureFormat } from '@oncehook/kernel/mongo/database-format'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import {
  addMissingKeysGauge,
  createKeyRegister,
  createUnknownKeys,
  type KeyRegister,
} from '@oncehook/kernel/mongo/key-register'
import { createPools, type MongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { createEncryption, type Encryption } from '@oncehook/kernel/secrets/encryption'
import { watchEncryptionKeys } from '@oncehook/kernel/secrets/encryption-keys'
import { logSecretWarnings } from '@oncehook/kernel/secrets/secret-register'
import { watchServiceKeys } from '@oncehook/kernel/secrets/service-keys'
import { createServiceTokenVerifier, type ServiceTokenVerifier } from '@oncehook/kernel/secrets/service-token'
import { CHECK_FILES_MS } from '@oncehook/kernel/settings/file-source'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { withTimeout } from '@oncehook/kernel/time/waits'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { createApp, isCall } from './http/app.ts'
import {
  createIdempotencyKeys,
  IDEMPOTENCY_INDEXES,
  IDEMPOTENCY_KEYS,
  type IdempotencyRow,
} from './idempotency-keys.ts'
import { addReceiptGauges, createFulfilmentMetrics, type FulfilmentMetrics } from './metrics.ts'
import { ORDER_INDEXES, ORDERS, type OrderDocument } from './orders/stored/order-document.ts'
import type { ReceiptOutbox } from './receipts/claims/new-receipts.ts'
import { createReceiptClaims } from './receipts/claims/receipt-claims.ts'
import { forgetReceipts } from './receipts/forget-receipts.ts'
import { readReceiptBacklog } from './receipts/list-receipts.ts'
import { ReceiptWorker } from './receipts/receipt-worker.ts'
import { createReceiptSink } from './receipts/sinks/receipt-sinks.ts'
import type { Recording, UseCases } from './router.ts'
import type { FulfilmentSettings } from './settings.ts'
import { createUsedCalls, USED_CALL_INDEXES } from './used-calls.ts'

/** Dependencies of fulfilment besides its settings. Tests replace some of them. */
export interface FulfilmentParts {
  readonly settings: FulfilmentSettings
  readonly logger: Logger
  /** The log output, used to count lost lines. */
  readonly logOutput?: LogOutput
  readonly clock: Clock
  readonly random: () => number
  readonly fetch: typeof globalThis.fetch
  /** Milliseconds that a run holds an idempotency key. Longer than any request. */
  readonly keyLeaseMs: number
  /** Milliseconds that a worker holds a receipt. Longer than a batch of attempts. */
  readonly receiptLeaseMs: number
  /** Verifies service tokens. Default: by the keys of the settings. */
  readonly verifyToken?: ServiceTokenVerifier | undefined
  /** Records the steps of the protocol, for tests. Default: nothing is recorded. */
  readonly recording?: Recording | undefined
}

interface WorkerParts {
  readonly metrics: FulfilmentMetrics
  readonly errors: DatabaseErrors
  readonly mongo: MongoConnection
  readonly lifecycle: Lifecycle
  readonly encryption: Encryption
}

const DAY_MS = 86_400_000
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
  const encryption = startEncryption(parts, lifecycle, onKeyUnknown)
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
    await ensureIndexes(db, [ORDER_INDEXES, IDEMPOTENCY_INDEXES, USED_CALL_INDEXES])
  })
  await mongo.background.open()
  // Anything started after this point would not be stopped.
  if (lifecycle.isStopping) return { port }
  ready = true
  addClockSkewGauge(registry, { db: mongo.background.db, clock: parts.clock })
  addMissingKeysGauge(registry, register)
  addReceiptGauges(registry, () => readReceiptBacklog(mongo.background.db.collection<OrderDocument>(ORDERS)))
  logSecretWarnings(settings.findSecretWarnings(), logger)
  worker.start()
  startHousekeeping(parts, { errors, mongo: mongo.background, lifecycle, register })
  logger.info({ port, database: settings.FULFILMENT_DB }, 'service.started')
  return { port }
}

function startEncryption(
  { settings, logger }: FulfilmentParts,
  lifecycle: Lifecycle,
  onKeyUnknown: () => void,
): Encryption {
  const keys = watchEncryptionKeys(settings.encryptionKeys, logger)
  const checking = setInterval(() => keys.check(), CHECK_FILES_MS).unref()
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
  // How long a sent receipt keeps its customer and email.
  const keepMs = settings.RECEIPT_RETENTION_DAYS * DAY_MS
  const claimOptions = { leaseMs, maxWaitMs: RECEIPT_BACKOFF.capMs, newClaimId: randomUUID, keepMs }
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
      newRunId: randomUUID,
    },
    recording,
    useCall: createUsedCalls(db, clock),
    payments: { db, errors, clock, logger, newCallId: randomUUID, receipts },
    erasures: {
      orders,
      keys: db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS),
      keyTtlMs: times.ttlMs,
      encryption,
      logger,
    },
    encryption: { db, encryption, logger, register },
    countResult: metrics.verdict,
  }
}

const HOUR_MS = 3_600_000
const LAST_WORK_MS = 800

/** Starts the tasks that remove expired personal data and register the encryption keys in use. */
function startHousekeeping(
  parts: FulfilmentParts,
  {
    errors,
    mongo,
    lifecycle,
    register,
  }: Pick<WorkerParts, 'errors' | 'mongo' | 'lifecycle'> & { readonly register: KeyRegister },
): void {
  const { logger, random } = parts
  const onError = (error: unknown): void => {
    errors.count(error)
    logger.warn({ error }, 'housekeeping.failed')
  }
  const running = runPeriodically({
    task: (stopping) => forgetReceipts(mongo.db, stopping),
    everyMs: HOUR_MS,
    random,
    onError,
  })
  const noting = runPeriodically({ task: () => register.check(), everyMs: CHECK_FILES_MS, random, onError })
  // Work that the next process resumes where it stopped.
  const stop = async (): Promise<void> =>
    void (await withTimeout(Promise.all([running.stop(), noting.stop()]), LAST_WORK_MS))
  lifecycle.onStop({ name: 'housekeeping', withinMs: 1_000, stop })
}

interface ListenerParts extends Omit<WorkerParts, 'mongo' | 'encryption'> {
  /** Throws unless calls and receipts can be written now. */
  readonly ping: () => Promise<void>
  readonly registry: Registry
  readonly useCases: UseCases
  readonly isReady: () => boolean
}

/** Starts the listener, with the service keys and certificates that it watches. Resolves to its port. */
async function startListener(parts: FulfilmentParts, listener: ListenerParts): Promise<number> {
  const { settings, logger, clock } = parts
  const { ping, registry, metrics, errors, useCases, isReady, lifecycle } = listener
  const keys = watchServiceKeys(settings.serviceKeys, logger)
  const certificates = watchTls(settings.tls, {
    ...{ prefix: 'FULFILMENT_TLS', logger },
    onChanged: (renewed) => {
      if (renewed !== null) opened.renewTls(renewed)
    },
  })
  const tls = certificates.current()
  const { METRICS_PORT: metricsPort, FULFILMENT_HOST: host } = settings
  const isOwnName = ownNames(host, settings.PRIVATE_NAMES)
  if (metricsPort !== undefined) {
    await openMetricsListener({ host, port: metricsPort, isOwnName, metrics: registry, logger, lifecycle })
  }
  const app = createApp({
    probes: createProbes({ checks: { mongodb: ping }, metrics: metricsPort === undefined ? registry : null }),
    verifyToken:
      parts.verifyToken ??
      createServiceTokenVerifier({ keys: keys.current, issuer: 'gateway', audience: 'fulfilment', clock }),
    useCases,
    demandsCertificate: tls?.clientCa !== undefined,
    isReady,
    logger,
    metrics,
    errors,
  })
  const opened = await listen({
    tls,
    host,
    port: settings.FULFILMENT_PORT,
    ...guardFraming({
      handler: app,
      // A gateway may use any name: a call has a token, which no page has.
      isOwnName: (request) => isCall(request) || isOwnName(request),
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
    maxConnections: settings.MAX_CONNECTIONS,
  })
  const checking = [keys, certificates].map((one) => setInterval(() => one.check(), CHECK_FILES_MS).unref())
  const stop = (): Promise<void> => {
    for (const one of checking) clearInterval(one)
    return opened.close(2_500)
  }
  lifecycle.onStop({ name: 'listener', withinMs: 3_000, stop })
  return opened.port
}
