import { Dispatcher } from '../../dispatch/dispatcher.ts'
import type { DispatcherDeps, Lease } from '../../dispatch/dispatcher-deps.ts'
import { createAllowance } from '../../dispatch/pace/allowance.ts'
import type { UsedPauses } from '../../dispatch/pace/fresh-pauses.ts'
import { createSettledLog } from '../../dispatch/settled-log.ts'
import type { Turn } from '../../dispatch/turns/process-turns.ts'
import { createReleaseUnread } from '../../handlers/calls/create-release-unread.ts'
import { processTasks } from '../../handlers/calls/process-tasks.ts'
import { readTasks } from '../../handlers/calls/read-tasks.ts'
import { createSharedReads } from '../../handlers/calls/shared-reads.ts'
import { settlesShared } from '../../handlers/calls/shared-settles.ts'
import type { HandlerSettings } from '../../handlers/settings/read-handlers.ts'
import { type Claims, createClaims, type ProcessClaims } from '../../inbox/claims/claims.ts'
import type { ClaimsDeps } from '../../inbox/claims/claims-deps.ts'
import { type MayHaveDue, probedClaims } from '../../inbox/claims/due-probe.ts'
import type { HandlerPauses } from '../../inbox/pauses/handler-pauses.ts'
import type { HandlerMetrics } from '../../metrics.ts'
import type { GatewayContext } from '../gateway-context.ts'
import { createCall } from './create-call.ts'

/** What all dispatchers of a process share. */
export interface SharedWork {
  readonly claims: Omit<ClaimsDeps, 'handler'>
  readonly process: ProcessClaims
  readonly mayHaveDue: MayHaveDue
  readonly lease: Lease
  /** The pauses of providers, joined with those of handlers. One dispatcher reads them for all. */
  readonly pauses: UsedPauses
  readonly handlerPauses: Pick<HandlerPauses, 'current'>
  /** Returns the place of one more dispatcher in the process. */
  readonly newTurn: () => Turn
  readonly metrics: HandlerMetrics
}

// Fewer and larger claims cost the database less. Other processes cannot get claimed tasks.
const CALLS_AHEAD = 4

/** Creates the dispatcher of one handler. The dispatcher of fulfilment keeps the lease, and finds stray records. */
export function createHandlerDispatcher(
  context: GatewayContext,
  shared: SharedWork,
  handler: HandlerSettings,
): Dispatcher {
  const { settings, logger, clock, random, databaseErrors } = context
  const { name, concurrency, batch, ratePerSecond } = handler
  const now = (): number => performance.now()
  const ordering = handler.orderBy === null ? undefined : { blockOnDead: handler.blockOnDead }
  const onLineFailed = (error: unknown): void => {
    databaseErrors.count(error)
    logger.warn({ error, handler: name }, 'line.not-advanced')
  }
  const isPaused = (): boolean => handler.paused || shared.handlerPauses.current.has(name)
  const allowance = createAllowance({ ratePerSecond, isPaused, now })
  const ownDeps = { handler: name, ordering, onLineFailed, activeForMs: () => allowance.activeForMs }
  const created = createClaims({ ...shared.claims, ...ownDeps }, shared.process)
  const { mayHaveDue } = shared
  const probed = probedClaims(created, { handler: name, mayHaveDue, now })
  const claims = settlesShared(databaseErrors.watch({ ...probed, releaseStrays: async () => 0 }))
  const logSettled = createSettledLog({ logger, summaries: context.summaries, handler: name })
  return new Dispatcher({
    ...{ handler: name, clock, random, logger, concurrency, batchSize: batch, claims },
    process: prepareProcess(context, shared, { handler, claims }),
    pauses: followPauses(shared.pauses),
    lease: followLease(shared.lease),
    turn: shared.newTurn(),
    allowance,
    claimSize: Math.max(batch, concurrency * CALLS_AHEAD),
    leaseMs: settings.LEASE_MS,
    maxCrashes: settings.MAX_CRASHES,
    onSettled(settled) {
      shared.metrics.taskSettled(name, settled.settlement.state, settled.attempt.outcome)
      logSettled(settled)
    },
    onLost: context.metrics.lostClaims,
  })
}

function prepareProcess(
  context: GatewayContext,
  shared: SharedWork,
  { handler, claims }: { readonly handler: HandlerSettings; readonly claims: Claims },
): DispatcherDeps['process'] {
  const { settings, random, encryption, logger, databaseErrors } = context
  const source = { db: shared.claims.db, encryption }
  const deps = {
    read:
      handler.batch === 1
        ? createSharedReads(source, handler.name)
        : (batch: Parameters<DispatcherDeps['process']>[0]) => readTasks(source, handler.name, batch),
    releaseUnread: createReleaseUnread({ claims, logger, handler: handler.name, countError: databaseErrors.count }),
    call: createCall(context, handler),
    limits: {
      baseMs: settings.RETRY_BASE_MS,
      capMs: settings.RETRY_CAP_MS,
      maxAgeMs: handler.maxAgeMs ?? settings.RETRY_MAX_AGE_MS,
      // A code of a handler has no special meaning, and an attempt that fails does not count against its event.
      orderUnknownMs: Number.POSITIVE_INFINITY,
      maxInternalErrors: Number.POSITIVE_INFINITY,
      internalMs: Number.POSITIVE_INFINITY,
    },
    random,
    sendsTests: settings.TEST_EVENTS === 'apply',
  }
  return (batch) => processTasks(deps, batch)
}

/** Pauses that another dispatcher refreshes. */
function followPauses(pauses: UsedPauses): UsedPauses {
  return {
    get current() {
      return pauses.current
    },
    refresh: async () => undefined,
    use: () => pauses.use(),
  }
}

/** The lease of another dispatcher, which alone ends it. */
function followLease(lease: Lease): Lease {
  return {
    get isAlive() {
      return lease.isAlive
    },
    start: () => lease.start(),
    stop: async () => undefined,
    end: async () => undefined,
  }
}
