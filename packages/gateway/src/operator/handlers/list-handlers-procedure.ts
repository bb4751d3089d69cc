import { z } from 'zod'
import { FULFILMENT, type HandlerSettings } from '../../handlers/settings/read-handlers.ts'
import type { HandlerPause } from '../../inbox/pauses/handler-pauses.ts'
import { type HandlerDepth, readHandlerDepths } from '../../inbox/statistics/handler-depth.ts'
import { procedure } from '../operator-trpc.ts'

/** A handler as operators see it, with the numbers of its tasks. */
interface ShownHandler extends HandlerDepth {
  readonly name: string
  /** How it is called. */
  readonly by: 'https' | 'trpc' | 'built in'
  /** The host and port that is called. Null for fulfilment. */
  readonly host: string | null
  readonly concurrency: number | null
  readonly ratePerSecond: number | null
  /** The JSON Pointer to the value whose tasks are sent one after the other. Null: all are sent in no particular order. */
  readonly orderBy: string | null
  /** Whether the later tasks with the same value wait for a dead one. */
  readonly blockOnDead: boolean
  /** Whether the setting pauses it. */
  readonly pausedBySetting: boolean
  /** Since when an operator has paused it, who did and why. Null: nobody has. */
  readonly paused: { readonly since: string; readonly by: string; readonly reason: string } | null
}

/**
 * `handlers.list`: fulfilment, and the configured handlers in the order of the setting, with their pauses and the numbers
 * of their pending and dead tasks.
 */
export const listHandlersProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const { db, handlers, handlerPauses } = ctx
  if (handlers === null) return []
  const [listed, depthOf] = await Promise.all([handlerPauses.list(), readHandlerDepths(db)])
  const pauses = new Map(listed.map((pause) => [pause.handler, pause]))
  return [null, ...handlers().values()].map((handler): ShownHandler => {
    const pause = pauses.get(handler?.name ?? FULFILMENT)
    return { ...showHandler(handler, pause), ...depthOf(handler?.name ?? null) }
  })
})

function showHandler(
  handler: HandlerSettings | null,
  pause: HandlerPause | undefined,
): Omit<ShownHandler, keyof HandlerDepth> {
  return {
    name: handler?.name ?? FULFILMENT,
    by: handler?.place.by ?? 'built in',
    host: handler?.place.url.host ?? null,
    concurrency: handler?.concurrency ?? null,
    ratePerSecond: handler?.ratePerSecond ?? null,
    orderBy: handler?.orderBy ?? null,
    blockOnDead: handler?.blockOnDead ?? false,
    pausedBySetting: handler?.paused ?? false,
    paused: pause === undefined ? null : { since: pause.since.toISOString(), by: pause.by, reason: pause.reason },
  }
}
