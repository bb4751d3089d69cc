import { Dispatcher } from '../dispatch/dispatcher.ts'
import type { DispatcherDeps } from '../dispatch/dispatcher-deps.ts'
import { RecentAnswers } from '../dispatch/health/recent-answers.ts'
import { logSettled } from '../dispatch/log-settled.ts'
import { FreshPauses } from '../dispatch/pace/fresh-pauses.ts'
import { processBatch } from '../dispatch/process-batch.ts'
import { reportMismatch } from '../dispatch/report-mismatch.ts'
import { createClaims } from '../inbox/claims/claims.ts'
import { indexedClaims } from '../inbox/claims/indexed-claims.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import type { GatewayContext } from './gateway-context.ts'

const HOUR_MS = 3_600_000

/** Creates the dispatcher. Once started, it sends stored events to fulfilment. */
export function createDispatcher(context: GatewayContext): Dispatcher {
  const { settings, logger, clock, random, metrics, databaseErrors, lifecycle, mongo, owner, payments, pauses } =
    context
  const { recording } = context
  const claims = createClaims({
    db: mongo.background.db,
    isSharded: () => mongo.background.isSharded,
    owner,
    leaseMs: settings.LEASE_MS,
    ...readRetention(settings),
    maxCrashes: settings.MAX_STARTS,
    maxDelayMs: settings.RETRY_CAP_MS,
    paused: () => pauses.current,
  })
  const limits = {
    baseMs: settings.RETRY_BASE_MS,
    capMs: settings.RETRY_CAP_MS,
    maxAgeMs: settings.RETRY_MAX_AGE_MS,
    orderUnknownMs: HOUR_MS,
    maxInternalErrors: settings.MAX_STARTS,
    internalMs: HOUR_MS,
  }
  const recent = new RecentAnswers(() => performance.now())
  const appliesTests = settings.TEST_EVENTS === 'apply'
  const processing = { fulfilment: payments, limits, random, recent, appliesTests }
  const process: DispatcherDeps['process'] = async (batch) =>
    reportMismatch(await processBatch(processing, batch), { logger, metrics })
  const guarded = indexedClaims(recording?.claims(claims) ?? claims, { logger, now: () => performance.now() })
  const dispatcher = new Dispatcher({
    claims: databaseErrors.watch(guarded),
    process: recording?.calls(process) ?? process,
    pauses: new FreshPauses({ pauses, now: () => performance.now(), onError: databaseErrors.count }),
    clock,
    random,
    logger,
    batchSize: settings.DISPATCH_BATCH,
    concurrency: settings.DISPATCH_CONCURRENCY,
    leaseMs: settings.LEASE_MS,
    maxCrashes: settings.MAX_STARTS,
    onSettled: (settled) => {
      metrics.settled(settled.settlement.state, settled.attempt.outcome)
      logSettled(logger, settled)
    },
    onLost: metrics.lostClaims,
  })
  lifecycle.onStop({ name: 'dispatcher', withinMs: 4_000, stop: () => dispatcher.stop() })
  return dispatcher
}
