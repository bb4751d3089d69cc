import { lookup } from 'node:dns/promises'
import { touch } from '@oncehook/kernel/mongo/majority-probe'
import { CHECK_FILES_MS } from '@oncehook/kernel/settings/file-source'
import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import type { ClaimOptions } from '@oncehook/queue/claim/claim'
import { type Claims, createClaims } from '@oncehook/queue/claim/claims'
import { createDueProbe, type DueProbe, probedClaims } from '@oncehook/queue/claim/due-probe'
import { Steadiness } from '@oncehook/queue/claim/steadiness'
import { Dispatcher } from '@oncehook/queue/dispatch/dispatcher'
import { FreshPauses, type UsedPauses } from '@oncehook/queue/dispatch/fresh-pauses'
import { createAllowance } from '@oncehook/queue/dispatch/pace'
import type { Send } from '@oncehook/queue/dispatch/send'
import { settlesShared } from '@oncehook/queue/dispatch/settle'
import { createSettledLog } from '@oncehook/queue/dispatch/settled-log'
import { SuspectsLane } from '@oncehook/queue/dispatch/suspects-lane'
import { MOST_TIMES } from '../handlers/batch-call.ts'
import { FULFILMENT_CODES, reportMismatch, sendPayments } from '../handlers/fulfilment/send-payments.ts'
import { createGuardedFetch } from '../handlers/guarded-fetch.ts'
import { HandlerDispatchers, pausedHandlers } from '../handlers/handler-dispatchers.ts'
import { type HandlerSettings, type Handlers, watchHandlers } from '../handlers/handler-settings.ts'
import { createHttpsCall } from '../handlers/https-call.ts'
import { createSharedReads, readTasks } from '../handlers/read-tasks.ts'
import { sendTasks } from '../handlers/send-tasks.ts'
import type { CallHandler } from '../handlers/task-event.ts'
import { createTrpcCall } from '../handlers/trpc-call.ts'
import { EVIDENCE_FIELDS, FULFILMENT } from '../inbox/event-document.ts'
import { endFields, readRetention } from '../inbox/retention/retention.ts'
import { readHandlerDepths } from '../inbox/statistics/handler-depth.ts'
import { addHandlerGauge, addHandlerStateGauges, createHandlerMetrics } from '../metrics.ts'
import { type FindWanting, prepareWanting } from '../webhooks/find-wanting.ts'
import { createTokens, type GatewayContext, noteFailure } from './gateway-context.ts'

// Of their records, the lines about settled events have these.
const LOGGED_FIELDS = ['requestId', 'type', 'orderId']
// The longest that a call of a handler may take, and its halves: no claim lasts longer.
const LONGEST_CALL_MS = 120_000

export type Dispatching = ReturnType<typeof createDispatching>

/** Creates the dispatchers, which send stored events to fulfilment and to the configured handlers, and the lane of suspects. */
export function createDispatching(context: GatewayContext) {
  const { settings, mongo, logger, random, databaseErrors, lifecycle } = context
  const { db } = mongo.background
  const maxDelayMs = settings.RETRY_CAP_MS
  const lastsMs = settings.LEASE_MS + LONGEST_CALL_MS
  const steadiness = new Steadiness(settings.LEASE_MS / 2, now, () => touch(db, 'claims'))
  const shared: SharedDispatching = {
    probe: createDueProbe({ db, maxMs: Math.max(maxDelayMs, lastsMs), steadiness, now }),
    steadiness,
    pauses: followPauses(context),
  }
  const dispatcher = createFulfilmentDispatcher(context, shared)
  const handlers = settings.handlers.isSet ? createHandlerWork(context, shared) : null
  const lane = new SuspectsLane({
    dispatchers: () => [dispatcher, ...(handlers?.dispatchers.running() ?? [])],
    suspected: shared.probe.suspected,
    ...{ random, now },
    onError(error) {
      databaseErrors.count(error)
      logger.warn({ error }, 'dispatch.database-failed')
    },
  })
  const stop = async (): Promise<void> => {
    lane.stop()
    await Promise.all([handlers?.stop(), dispatcher.stop()])
  }
  lifecycle.onStop({ name: 'dispatcher', withinMs: 4_000, stop })
  return {
    /** To fulfilment. */
    dispatcher,
    /** To the configured handlers. Null if the setting is not set. */
    handlers,
    start(): void {
      dispatcher.start()
      handlers?.start()
      lane.start()
    },
  }
}

function now(): number {
  return performance.now()
}

/** The pauses of providers. If handlers are configured, theirs are read and used together with them. */
function followPauses({ settings, pauses, handlerPauses, databaseErrors }: GatewayContext): UsedPauses {
  const all = settings.handlers.isSet ? [pauses, handlerPauses] : [pauses]
  const together = {
    get current() {
      return pauses.current
    },
    refresh: async () => void (await Promise.all(all.map((one) => one.refresh()))),
  }
  return new FreshPauses({ now, onError: databaseErrors.count, pauses: together })
}

function createFulfilmentDispatcher(context: GatewayContext, shared: SharedDispatching): Dispatcher {
  const { settings, logger, random, metrics, applyEvents, recording, handlerPauses } = context
  const { dispatchBatch, fulfilmentCallMs: callMs } = context.limits
  const limits = {
    baseMs: settings.RETRY_BASE_MS,
    capMs: settings.RETRY_CAP_MS,
    maxAgeMs: settings.RETRY_MAX_AGE_MS,
    ofCodes: FULFILMENT_CODES,
  }
  const deps = {
    ...{ applyEvents, limits, random, databaseNow: context.mongo.background.databaseNow },
    appliesTests: settings.TEST_EVENTS === 'apply',
  }
  const send: Send = async (claims) => reportMismatch(await sendPayments(deps, claims), { logger, metrics })
  const logSettled = createSettledLog({ logger, handler: FULFILMENT, fields: LOGGED_FIELDS })
  const isPaused = (): boolean => handlerPauses.current.has(FULFILMENT)
  const own = createOwnClaims(context, shared, { handler: FULFILMENT, callMs })
  return new Dispatcher({
    ...describeDispatcher(context, shared),
    handler: FULFILMENT,
    claims: recording?.claims(own) ?? own,
    send: recording?.calls(send) ?? send,
    allowance: createAllowance({ ratePerSecond: null, isPaused, now }),
    batchSize: dispatchBatch,
    concurrency: settings.DISPATCH_CONCURRENCY,
    callMs,
    onSettled: (settled) => {
      metrics.settled(settled.settlement.state, settled.attempt.outcome)
      context.minutes.settled(settled.attempt)
      logSettled(settled)
    },
  })
}

/** Creates a dispatcher for each handler. They follow the setting without a restart. */
function createHandlerWork(context: GatewayContext, shared: SharedDispatching) {
  const { settings, logger, random, registry, handlerPauses } = context
  const metrics = createHandlerMetrics(registry)
  const dispatchers = new HandlerDispatchers((handler) =>
    createHandlerDispatcher(context, { ...shared, metrics }, handler),
  )
  // The dispatchers come first: as soon as an event is offered to a handler, its tasks can be claimed.
  const apply = (handlers: Handlers): FindWanting => {
    dispatchers.apply(handlers)
    return prepareWanting(handlers)
  }
  const watched = watchHandlers(settings.handlers, logger, (handlers) => {
    find = apply(handlers)
  })
  let find: FindWanting = apply(watched.current())
  addHandlerGauge(registry, {
    names: () => watched.current().keys(),
    readDepths: () => readHandlerDepths(context.mongo.background.db),
  })
  addHandlerStateGauges(registry, {
    names: () => [FULFILMENT, ...watched.current().keys()],
    refreshPaused: () => handlerPauses.refresh(),
    paused: () => pausedHandlers(watched.current(), handlerPauses.current),
    isUp: (name) => dispatchers.takerOf(name)?.isUp ?? null,
  })
  let timer: { stop(): Promise<void> } | null = null
  return {
    dispatchers,
    /** Finds the handlers that want an event, by the current settings. */
    findWanting: ((delivery) => find(delivery)) satisfies FindWanting,
    current: watched.current,
    /** Starts to send tasks, and to follow the files. */
    start(): void {
      dispatchers.start()
      timer = runPeriodically({
        task: async () => watched.check(),
        everyMs: CHECK_FILES_MS,
        random,
        onError: noteFailure(context),
      })
    },
    /** Releases what the handlers' dispatchers hold, in a limited time. */
    async stop(): Promise<void> {
      await Promise.all([timer?.stop(), dispatchers.stop()])
    },
  }
}

function createHandlerDispatcher(
  context: GatewayContext,
  shared: SharedDispatching & { readonly metrics: ReturnType<typeof createHandlerMetrics> },
  handler: HandlerSettings,
): Dispatcher {
  const { logger, handlerPauses } = context
  const { name, concurrency, batch, ratePerSecond, timeoutMs } = handler
  const ordering = handler.orderBy === null ? undefined : { blockOnDead: handler.blockOnDead }
  const isPaused = (): boolean => handler.paused || handlerPauses.current.has(name)
  const logSettled = createSettledLog({ logger, handler: name, fields: LOGGED_FIELDS })
  const callMs = batch > 1 ? MOST_TIMES * timeoutMs : timeoutMs
  return new Dispatcher({
    ...describeDispatcher(context, shared),
    ...{ handler: name, concurrency, batchSize: batch, callMs },
    claims: settlesShared(createOwnClaims(context, shared, { handler: name, callMs, ordering })),
    send: prepareSend(context, handler, callMs),
    allowance: createAllowance({ ratePerSecond, isPaused, now }),
    onSettled(settled) {
      shared.metrics.taskSettled(name, settled.settlement.state, settled.attempt.outcome)
      context.minutes.settled(settled.attempt)
      logSettled(settled)
    },
  })
}

function prepareSend(context: GatewayContext, handler: HandlerSettings, callMs: number): Send {
  const { settings, random, encryption, mongo } = context
  const source = { db: mongo.background.db, encryption }
  const deps = {
    read:
      handler.batch === 1
        ? createSharedReads(source, handler.name)
        : (claims: Parameters<Send>[0]) => readTasks(source, handler.name, claims),
    call: createCall(context, handler),
    limits: {
      baseMs: settings.RETRY_BASE_MS,
      capMs: settings.RETRY_CAP_MS,
      maxAgeMs: handler.maxAgeMs ?? settings.RETRY_MAX_AGE_MS,
      // A code of a handler has no special meaning.
      ofCodes: new Map(),
    },
    ...{ random, callMs, isBatched: handler.batch > 1, databaseNow: mongo.background.databaseNow },
    sendsTests: settings.TEST_EVENTS === 'apply',
  }
  return (claims) => sendTasks(deps, claims)
}

function createCall({ serviceKey, clock }: GatewayContext, handler: HandlerSettings): CallHandler {
  const { name, place, timeoutMs } = handler
  if (place.by === 'https') {
    const fetch = createGuardedFetch({ lookup, mayBePrivate: place.mayBePrivate })
    return createHttpsCall({ handler: name, place, isBatched: handler.batch > 1, fetch, clock, timeoutMs, now })
  }
  const fetch = createGuardedFetch({ lookup, mayBePrivate: true })
  const tokens = createTokens({ serviceKey, clock }, name)
  return createTrpcCall({ handler: name, url: place.url, tokens, fetch, timeoutMs, now })
}

// Why a task of a handler is dead after too many calls that broke.
const CALL_BROKE = 'handler_failed'

interface SharedDispatching {
  readonly probe: DueProbe
  readonly steadiness: Steadiness
  /** The pauses of providers, joined with those of handlers. */
  readonly pauses: UsedPauses
}

function describeDispatcher(
  { logger, random, metrics, mongo, settings }: GatewayContext,
  { pauses }: SharedDispatching,
) {
  return {
    ...{ pauses, random, now, logger },
    leaseMs: settings.LEASE_MS,
    databaseNow: mongo.background.databaseNow,
    onLost: metrics.lostClaims,
  }
}

/** Creates the claims of a handler. A call takes at most `callMs`. */
function createOwnClaims(
  { settings, mongo, pauses, databaseErrors, logger, monotonicMs = now }: GatewayContext,
  { probe, steadiness }: SharedDispatching,
  { handler, callMs, ordering }: Pick<ClaimOptions, 'handler' | 'ordering'> & { readonly callMs: number },
): Claims {
  const claims = createClaims({
    end: endFields(readRetention(settings)),
    callBroke: handler === FULFILMENT ? 'fulfilment_failed' : CALL_BROKE,
    unread: EVIDENCE_FIELDS,
    ...{ handler, ordering, steadiness, db: mongo.background.db },
    lastsMs: settings.LEASE_MS + callMs,
    maxCrashes: settings.MAX_CRASHES,
    maxDelayMs: settings.RETRY_CAP_MS,
    paused: () => pauses.current,
    onLineFailed(error) {
      databaseErrors.count(error)
      logger.warn({ error, handler }, 'line.not-advanced')
    },
  })
  return databaseErrors.watch(probedClaims(claims, { handler, probe, now: monotonicMs }))
}
