import type { Db } from 'mongodb'
import { z } from 'zod'
import { FULFILMENT, type HandlerSettings } from '../../handlers/settings/read-handlers.ts'
import type { HandlerPause } from '../../inbox/pauses/handler-pauses.ts'
import { type HandlerDepth, readHandlerDepth } from '../../inbox/statistics/handler-depth.ts'
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
  const pauses = new Map((await handlerPauses.list()).map((pause) => [pause.handler, pause]))
  const shown = [null, ...handlers().values()].map((handler) => showHandler(db, handler, pauses))
  return Promise.all(shown)
})

async function showHandler(
  db: Db,
  handler: HandlerSettings | null,
  pauses: ReadonlyMap<string, HandlerPause>,
): Promise<ShownHandler> {
  const name = handler?.name ?? FULFILMENT
  const pause = pauses.get(name)
  return {
    name,
    by: handler?.place.by ?? 'built in',
    host: handler?.place.url.host ?? null,
    concurrency: handler?.concurrency ?? null,
    ratePerSecond: handler?.ratePerSecond ?? null,
    pausedBySetting: handler?.paused ?? false,
    paused: pause === undefined ? null : { since: pause.since.toISOString(), by: pause.by, reason: pause.reason },
    ...(await readHandlerDepth(db, handler?.name ?? null)),
  }
}
