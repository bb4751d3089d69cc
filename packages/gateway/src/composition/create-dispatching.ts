import { Dispatcher } from '../dispatch/dispatcher.ts'
import type { DispatcherDeps, Lease } from '../dispatch/dispatcher-deps.ts'
import { RecentAnswers } from '../dispatch/health/recent-answers.ts'
import { Heartbeat } from '../dispatch/heartbeat.ts'
import { createAllowance } from '../dispatch/pace/allowance.ts'
import { FreshPauses, type UsedPauses } from '../dispatch/pace/fresh-pauses.ts'
import { joinPauses } from '../dispatch/pace/joined-pauses.ts'
import { processBatch } from '../dispatch/process-batch.ts'
import { reportMismatch } from '../dispatch/report-mismatch.ts'
import { createSettledLog } from '../dispatch/settled-log.ts'
import { createProcessTurns } from '../dispatch/turns/process-turns.ts'
import { type Claims, createClaims, createProcessClaims } from '../inbox/claims/claims.ts'
import type { ClaimsDeps } from '../inbox/claims/claims-deps.ts'
import { createDueProbe, probedClaims } from '../inbox/claims/due-probe.ts'
import { FULFILMENT } from '../inbox/event-document.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import type { GatewayContext } from './gateway-context.ts'
import { createHandlerWork, type HandlerWork } from './handlers/create-handler-work.ts'

const HOUR_MS = 3_600_000
const SHARES_IN_LEASE = 12

/** What sends stored events. */
export interface Dispatching {
  /** To fulfilment. */
  readonly dispatcher: Dispatcher
  /** To the configured handlers. Null if the setting is not set. */
  readonly handlers: HandlerWork | null
}

/**
 * Creates the dispatchers. Once started, they send stored events to fulfilment and to the configured handlers.
 */
export function createDispatching(context: GatewayContext): Dispatching {
  const { settings, logger, random, databaseErrors, lifecycle, recording } = context
  const hasHandlers = settings.handlers.isSet
  const configured = (): Iterable<string> => handlers?.current().keys() ?? []
  const deps: ClaimsDeps = { ...describeClaims(context), configured }
  // Beside handlers, several dispatchers look at the holders.
  const process = createProcessClaims(deps, hasHandlers ? settings.LEASE_MS / SHARES_IN_LEASE : 0)
  const mayHaveDue = createDueProbe(deps)
  const isPaused = (): boolean => context.handlerPauses.current.has(FULFILMENT)
  const allowance = createAllowance({ ratePerSecond: null, isPaused, now })
  const created = createClaims({ ...deps, activeForMs: () => allowance.activeForMs }, process)
  const own = hasHandlers ? probedClaims(created, { handler: FULFILMENT, mayHaveDue, now }) : created
  const claims = databaseErrors.watch(recording?.claims(own) ?? own)
  const pauses = followPauses(context)
  const onError = (error: unknown): void => logger.warn({ error }, 'dispatch.database-failed')
  const released = Promise.withResolvers<void>()
  const heartbeat = new Heartbeat({ claims, leaseMs: settings.LEASE_MS, random, now, onError })
  const lease = endAfter(heartbeat, released.promise)
  const newTurn = createProcessTurns(now)
  const handlers = hasHandlers
    ? createHandlerWork(context, { claims: deps, ...{ process, mayHaveDue, pauses, lease, newTurn } })
    : null
  const shared = { claims: withHeld(claims, handlers), pauses, lease }
  const dispatcher = createDispatcher(context, hasHandlers ? { ...shared, allowance, turn: newTurn() } : shared)
  const stop = async (): Promise<void> => {
    const ending = Promise.resolve(handlers?.stop()).finally(released.resolve)
    await Promise.all([ending, dispatcher.stop()])
  }
  lifecycle.onStop({ name: 'dispatcher', withinMs: 4_000, stop })
  return { dispatcher, handlers }
}

function now(): number {
  return performance.now()
}

/** The pauses of providers. If handlers are configured, theirs are read and used together with them. */
function followPauses({ settings, pauses, handlerPauses, databaseErrors }: GatewayContext): UsedPauses {
  const deps = { now, onError: databaseErrors.count }
  const providers = new FreshPauses({ ...deps, pauses })
  return settings.handlers.isSet
    ? joinPauses(providers, new FreshPauses({ ...deps, pauses: handlerPauses }))
    : providers
}

function describeClaims({ settings, mongo, owner, pauses }: GatewayContext): ClaimsDeps {
  return {
    db: mongo.background.db,
    owner,
    handler: FULFILMENT,
    leaseMs: settings.LEASE_MS,
    ...readRetention(settings),
    maxCrashes: settings.MAX_CRASHES,
    maxDelayMs: settings.RETRY_CAP_MS,
    paused: () => pauses.current,
  }
}

/** The lease of this process, which ends only after everything that is held under it was released. */
function endAfter(lease: Lease, released: Promise<void>): Lease {
  return {
    get isAlive() {
      return lease.isAlive
    },
    start: () => lease.start(),
    stop: () => lease.stop(),
    end: () => released.then(() => lease.end()),
  }
}

/** The same claims. What the dispatchers of handlers hold is not stray. */
function withHeld(claims: Claims, handlers: HandlerWork | null): Claims {
  if (handlers === null) return claims
  return {
    ...claims,
    releaseStrays: (held) => claims.releaseStrays(() => [...held(), ...handlers.dispatchers.held()]),
  }
}

function createDispatcher(
  context: GatewayContext,
  shared: Pick<DispatcherDeps, 'claims' | 'pauses' | 'lease' | 'allowance' | 'turn'>,
): Dispatcher {
  const { settings, logger, summaries, clock, random, metrics, payments, recording } = context
  const limits = {
    baseMs: settings.RETRY_BASE_MS,
    capMs: settings.RETRY_CAP_MS,
    maxAgeMs: settings.RETRY_MAX_AGE_MS,
    orderUnknownMs: HOUR_MS,
    maxInternalErrors: settings.MAX_CRASHES,
    internalMs: HOUR_MS,
  }
  const recent = new RecentAnswers(now)
  const appliesTests = settings.TEST_EVENTS === 'apply'
  const processing = { fulfilment: payments, limits, random, recent, appliesTests }
  const process: DispatcherDeps['process'] = async (batch) =>
    reportMismatch(await processBatch(processing, batch), { logger, metrics })
  const logSettled = createSettledLog({ logger, summaries, handler: FULFILMENT })
  return new Dispatcher({
    ...shared,
    handler: FULFILMENT,
    process: recording?.calls(process) ?? process,
    clock,
    random,
    logger,
    batchSize: context.limits.dispatchBatch,
    concurrency: settings.DISPATCH_CONCURRENCY,
    leaseMs: settings.LEASE_MS,
    maxCrashes: settings.MAX_CRASHES,
    onSettled: (settled) => {
      metrics.settled(settled.settlement.state, settled.attempt.outcome)
      logSettled(settled)
    },
    onLost: metrics.lostClaims,
  })
}
