import { Dispatcher } from '../../dispatch/dispatcher.ts'
import { createAllowance } from '../../dispatch/pace/allowance.ts'
import type { Send } from '../../dispatch/sent.ts'
import { createSettledLog } from '../../dispatch/settled-log.ts'
import { readTasks } from '../../handlers/calls/read-tasks.ts'
import { sendTasks } from '../../handlers/calls/send-tasks.ts'
import { createSharedReads } from '../../handlers/calls/shared-reads.ts'
import { settlesShared } from '../../handlers/calls/shared-settles.ts'
import { MOST_TIMES } from '../../handlers/calls/trpc-call.ts'
import type { HandlerSettings } from '../../handlers/settings/read-handlers.ts'
import type { HandlerMetrics } from '../../metrics.ts'
import type { GatewayContext } from '../gateway-context.ts'
import { createOwnClaims, describeDispatcher, type SharedDispatching } from '../shared-dispatching.ts'
import { createCall } from './create-call.ts'

/** Creates the dispatcher of one handler. */
export function createHandlerDispatcher(
  context: GatewayContext,
  shared: SharedDispatching & { readonly metrics: HandlerMetrics },
  handler: HandlerSettings,
): Dispatcher {
  const { logger, summaries, handlerPauses } = context
  const { name, concurrency, batch, ratePerSecond, timeoutMs } = handler
  const ordering = handler.orderBy === null ? undefined : { blockOnDead: handler.blockOnDead }
  const isPaused = (): boolean => handler.paused || handlerPauses.current.has(name)
  const logSettled = createSettledLog({ logger, summaries, handler: name })
  const callMs = batch > 1 ? MOST_TIMES * timeoutMs : timeoutMs
  return new Dispatcher({
    ...describeDispatcher(context, shared),
    ...{ handler: name, concurrency, batchSize: batch, callMs },
    claims: settlesShared(createOwnClaims(context, shared, { handler: name, callMs, ordering })),
    send: prepareSend(context, handler, callMs),
    allowance: createAllowance({ ratePerSecond, isPaused, now: () => performance.now() }),
    onSettled(settled) {
      shared.metrics.taskSettled(name, settled.settlement.state, settled.attempt.outcome)
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
      orderUnknownMs: Number.POSITIVE_INFINITY,
    },
    ...{ random, callMs, isBatched: handler.batch > 1, databaseNow: mongo.background.databaseNow },
    sendsTests: settings.TEST_EVENTS === 'apply',
  }
  return (claims) => sendTasks(deps, claims)
}
