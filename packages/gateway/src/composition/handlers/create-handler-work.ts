import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { type FindWanting, prepareWanting } from '../../handlers/events/find-wanting.ts'
import { HandlerDispatchers } from '../../handlers/handler-dispatchers.ts'
import { pausedHandlers } from '../../handlers/paused-handlers.ts'
import type { Handlers } from '../../handlers/settings/read-handlers.ts'
import { watchHandlers } from '../../handlers/settings/watched-handlers.ts'
import { FULFILMENT } from '../../inbox/event-document.ts'
import { readHandlerDepths } from '../../inbox/statistics/handler-depth.ts'
import { addHandlerGauge, addHandlerStateGauges, createHandlerMetrics } from '../../metrics.ts'
import type { GatewayContext } from '../gateway-context.ts'
import type { SharedDispatching } from '../shared-dispatching.ts'
import { createHandlerDispatcher } from './create-handler-dispatcher.ts'

/** The configured handlers at work. */
export interface HandlerWork {
  readonly dispatchers: Pick<HandlerDispatchers, 'takerOf' | 'running'>
  /** Finds the handlers that want an event, by the current settings. */
  readonly findWanting: FindWanting
  /** The current handlers. */
  readonly current: () => Handlers
  /** Starts to send tasks, and to follow the files. */
  start(): void
  /** Releases what the handlers' dispatchers hold, in a limited time. */
  stop(): Promise<void>
}

const CHECK_MS = 1_000

/** Creates a dispatcher for each handler. They follow the setting without a restart. */
export function createHandlerWork(context: GatewayContext, shared: SharedDispatching): HandlerWork {
  const { settings, logger, random, registry, databaseErrors, handlerPauses } = context
  const metrics = createHandlerMetrics(registry)
  const dispatchers = new HandlerDispatchers((handler) =>
    createHandlerDispatcher(context, { ...shared, metrics }, handler),
  )
  // The dispatchers come first: as soon as an event is offered to a handler, its tasks can be claimed.
  const apply = (handlers: Handlers): FindWanting => {
    dispatchers.apply(handlers)
    return prepareWanting(handlers)
  }
  const watched = watchHandlers(settings.handlers, {
    logger,
    onChanged(handlers) {
      find = apply(handlers)
    },
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
  const onError = (error: unknown): void => {
    databaseErrors.count(error)
    logger.warn({ error }, 'housekeeping.failed')
  }
  let timer: { stop(): Promise<void> } | null = null
  return {
    dispatchers,
    findWanting: (delivery) => find(delivery),
    current: watched.current,
    start() {
      dispatchers.start()
      timer = runPeriodically({ task: async () => watched.check(), everyMs: CHECK_MS, random, onError })
    },
    async stop() {
      await Promise.all([timer?.stop(), dispatchers.stop()])
    },
  }
}
