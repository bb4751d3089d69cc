import { touch } from '@oncehook/kernel/mongo/majority-probe'
import { Dispatcher } from '../dispatch/dispatcher.ts'
import { createAllowance } from '../dispatch/pace/allowance.ts'
import { FreshPauses, type UsedPauses } from '../dispatch/pace/fresh-pauses.ts'
import { joinPauses } from '../dispatch/pace/joined-pauses.ts'
import { reportMismatch } from '../dispatch/report-mismatch.ts'
import { sendPayments } from '../dispatch/send-payments.ts'
import type { Send } from '../dispatch/sent.ts'
import { createSettledLog } from '../dispatch/settled-log.ts'
import { SuspectsLane } from '../dispatch/suspects-lane.ts'
import { createDueProbe } from '../inbox/claims/due-probe.ts'
import { Steadiness } from '../inbox/claims/steadiness.ts'
import { FULFILMENT } from '../inbox/event-document.ts'
import type { GatewayContext } from './gateway-context.ts'
import { createHandlerWork, type HandlerWork } from './handlers/create-handler-work.ts'
import { createOwnClaims, describeDispatcher, type SharedDispatching } from './shared-dispatching.ts'

const HOUR_MS = 3_600_000
// The longest that a call of a handler may take, and its halves: no claim lasts longer.
const LONGEST_CALL_MS = 120_000

/** What sends stored events. */
export interface Dispatching {
  /** To fulfilment. */
  readonly dispatcher: Dispatcher
  /** To the configured handlers. Null if the setting is not set. */
  readonly handlers: HandlerWork | null
  /** Starts to send. */
  start(): void
}

/** Creates the dispatchers, which send stored events to fulfilment and to the configured handlers, and the lane of suspects. */
export function createDispatching(context: GatewayContext): Dispatching {
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
    dispatcher,
    handlers,
    start() {
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
  const deps = { now, onError: databaseErrors.count }
  const providers = new FreshPauses({ ...deps, pauses })
  return settings.handlers.isSet
    ? joinPauses(providers, new FreshPauses({ ...deps, pauses: handlerPauses }))
    : providers
}

function createFulfilmentDispatcher(context: GatewayContext, shared: SharedDispatching): Dispatcher {
  const { settings, logger, summaries, random, metrics, payments, recording, handlerPauses } = context
  const { dispatchBatch, fulfilmentCallMs: callMs } = context.limits
  const limits = {
    baseMs: settings.RETRY_BASE_MS,
    capMs: settings.RETRY_CAP_MS,
    maxAgeMs: settings.RETRY_MAX_AGE_MS,
    orderUnknownMs: HOUR_MS,
  }
  const deps = {
    ...{ fulfilment: payments, limits, random, databaseNow: context.mongo.background.databaseNow },
    appliesTests: settings.TEST_EVENTS === 'apply',
  }
  const send: Send = async (claims) => reportMismatch(await sendPayments(deps, claims), { logger, metrics })
  const logSettled = createSettledLog({ logger, summaries, handler: FULFILMENT })
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
      logSettled(settled)
    },
  })
}
