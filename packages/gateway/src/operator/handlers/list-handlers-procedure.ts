import { z } from 'zod'
import type { HandlerSettings, WantedEvents } from '../../handlers/settings/read-handlers.ts'
import { FULFILMENT } from '../../inbox/event-document.ts'
import type { HandlerPause } from '../../inbox/pauses/handler-pauses.ts'
import { type FailingTasks, readFailingTasks } from '../../inbox/statistics/failing-tasks.ts'
import { type HandlerDepth, readHandlerDepths } from '../../inbox/statistics/handler-depth.ts'
import { type OperatorContext, procedure } from '../operator-trpc.ts'

/** A handler as operators see it, with the numbers of its tasks. */
interface ShownHandler {
  readonly name: string
  /** How it is called. `removed`: it is not in the setting any more, but has pending or dead tasks. */
  readonly by: 'https' | 'trpc' | 'built in' | 'removed'
  /** The host and port that is called. Null for fulfilment and for a removed handler. */
  readonly host: string | null
  /** Which events it wants. Empty for fulfilment and for a removed handler. */
  readonly events: readonly WantedEvents[]
  readonly concurrency: number | null
  readonly ratePerSecond: number | null
  /** The JSON Pointer to the value whose tasks are sent one after the other. Null: all are sent in no particular order. */
  readonly orderBy: string | null
  /** Whether the later tasks with the same value wait for a dead one. */
  readonly blockOnDead: boolean
  /** The secrets that sign its calls, never their values. */
  readonly secrets: readonly { readonly id: string; readonly notAfter: string | null }[]
  /** Whether it answers the calls of the process that you ask. Null: this process calls none. */
  readonly answers: boolean | null
  /** Whether the setting pauses it. */
  readonly pausedBySetting: boolean
  /** Since when an operator has paused it, who did and why. Null: nobody has. */
  readonly paused: { readonly since: string; readonly by: string; readonly reason: string } | null
  /** The number of its pending tasks. Null if the database did not answer in time. */
  readonly pending: number | null
  readonly dead: number | null
  /** When the oldest of the pending tasks was stored. */
  readonly oldestStoredAt: string | null
  /**
   * How many of the 20 pending tasks that wait longest for their next attempt have failed at least three times in a row, and
   * the newest error of these. Null: none has, or the database did not answer in time. Absent: a gateway of an earlier
   * version. Only of configured handlers.
   */
  readonly failing?: FailingShown | null
}

interface FailingShown {
  readonly tasks: number
  readonly code: string
  readonly message: string
  readonly at: string
}

/**
 * `handlers.list`: fulfilment, the configured handlers in the order of the setting, and then those that were removed but
 * still have pending or dead tasks, with their pauses and the numbers of their tasks.
 */
export const listHandlersProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const { db, handlers, handlerPauses } = ctx
  if (handlers === null) return []
  const [listed, depths] = await Promise.all([handlerPauses.list(), readHandlerDepths(db)])
  const pauses = new Map(listed.map((pause) => [pause.handler, pause]))
  const configured = handlers()
  const removed = depths.names.filter((name) => name !== FULFILMENT && !configured.has(name)).toSorted()
  // While the database does not even count the tasks in time, nothing more is asked.
  const waiting = [...configured.keys()].filter((name) => (depths.of(name).pending ?? 0) > 0)
  const failing = await readFailingTasks(db, waiting)
  const show = (name: string): ShownHandler => ({
    ...{ name, ...showSettings(ctx, name, configured.get(name)) },
    ...showPause(pauses.get(name)),
    ...showDepth(depths.of(name)),
    failing: showFailing(failing.get(name)),
  })
  return [FULFILMENT, ...configured.keys(), ...removed].map(show)
})

type ShownSettings = Omit<ShownHandler, 'name' | 'paused' | 'failing' | keyof HandlerDepth>

const NO_SETTINGS = {
  ...{ host: null, events: [], concurrency: null, ratePerSecond: null, secrets: [], answers: null },
  ...{ orderBy: null, blockOnDead: false, pausedBySetting: false },
}

function showSettings(
  { isHandlerUp }: OperatorContext,
  name: string,
  handler: HandlerSettings | undefined,
): ShownSettings {
  if (handler === undefined) return { by: name === FULFILMENT ? 'built in' : 'removed', ...NO_SETTINGS }
  const { place, events, concurrency, ratePerSecond, orderBy, blockOnDead, paused } = handler
  const keys = place.by === 'https' ? place.keys : []
  return {
    ...{ by: place.by, host: place.url.host, events, concurrency, ratePerSecond, orderBy, blockOnDead },
    secrets: keys.map(({ id, notAfter }) => ({
      id,
      notAfter: notAfter === null ? null : new Date(notAfter).toISOString(),
    })),
    ...{ answers: isHandlerUp(handler.name), pausedBySetting: paused },
  }
}

function showPause(pause: HandlerPause | undefined): Pick<ShownHandler, 'paused'> {
  return {
    paused: pause === undefined ? null : { since: pause.since.toISOString(), by: pause.by, reason: pause.reason },
  }
}

function showDepth({ pending, dead, oldestStoredAt }: HandlerDepth): Pick<ShownHandler, keyof HandlerDepth> {
  return { pending, dead, oldestStoredAt: oldestStoredAt?.toISOString() ?? null }
}

function showFailing(failing: FailingTasks | undefined): FailingShown | null {
  if (failing === undefined) return null
  const { code, message, at } = failing.lastError
  return { tasks: failing.tasks, code, message, at: at.toISOString() }
}
