import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import { tracked } from '@trpc/server'
import { z } from 'zod'
import { eventFilterSchema } from '../events/event-filter.ts'
import type { ShownEvent } from '../events/show-event.ts'
import { type OperatorContext, procedure } from '../operator-trpc.ts'
import type { TailBatch, TailReader } from './event-tail.ts'

const MOST_ITEMS = 50
const CHECK_MS = 10_000

const tailSchema = eventFilterSchema
  .pick({ provider: true, type: true, state: true, reason: true, handler: true, orderId: true })
  .extend({ lastEventId: z.string().max(2_100).nullish() })

type TailInput = z.output<typeof tailSchema>

/** Events that have changed, summed up. */
export interface TailMessage {
  /** The newest of them, as they are now, newest first. */
  readonly items: readonly ShownEvent[]
  /** How many have changed, by their provider and the state that they are in now. `items` are included. */
  readonly counts: readonly { readonly provider: string; readonly state: ShownEvent['state']; readonly count: number }[]
  /** Whether changes are missing from this message: read the list again. */
  readonly lagging: boolean
  /** How many changes are missing. Null: unknown. */
  readonly skipped: number | null
}

/**
 * `events.tail`: streams the events that are received or change, in at most four messages a second. The first message
 * says that the tail has begun. After a reconnect with the id of the last message, it continues there, or says that it
 * is lagging. It ends when the token or the session ends.
 * @throws tailCrowded, tailShareUsed
 */
export const tailProcedure = procedure.input(tailSchema.prefault({})).subscription(({ ctx, input, signal }) => {
  const reader = ctx.tail.join(ctx.operator, input.lastEventId ?? null)
  signal?.addEventListener(
    'abort',
    () => {
      reader.leave()
    },
    { once: true },
  )
  if (signal?.aborted) reader.leave()
  return readAll(ctx, input, reader)
})

async function* readAll(ctx: OperatorContext, input: TailInput, reader: TailReader) {
  let isFirst = true
  let checkedAt = ctx.monotonicMs()
  try {
    for (;;) {
      const batch = await reader.next(CHECK_MS)
      const at = ctx.monotonicMs()
      const isDue = at - checkedAt >= CHECK_MS
      await checkCaller(ctx, isDue)
      if (isDue) checkedAt = at
      const message = batch === null ? null : toMessage(batch, input)
      if (batch === null || message === null) continue
      if (!isFirst && message.counts.length === 0 && !message.lagging) continue
      isFirst = false
      yield tracked(batch.id, message)
    }
  } finally {
    reader.leave()
  }
}

/** The token was checked when the stream began. It may have expired since, and the session may have ended. */
async function checkCaller({ caller, clock, signIns }: OperatorContext, isDue: boolean): Promise<void> {
  const { endsAt, session } = caller
  if (endsAt !== null && endsAt <= clock.now()) throw unauthenticated({ reason: 'expired' })
  if (!isDue || session === null) return
  if ((await signIns.findSession(session.token.reveal())) === null) throw unauthenticated({ reason: 'session_unknown' })
}

function toMessage({ events, skipped }: TailBatch, { lastEventId: _, ...filter }: TailInput): TailMessage {
  const wanted = events.filter((event) => matches(event, filter))
  const counts = Map.groupBy(wanted, ({ provider, state }) => `${state} ${provider}`)
  return {
    items: wanted.slice(0, MOST_ITEMS),
    counts: [...counts.values()].flatMap(([first, ...more]) =>
      first === undefined ? [] : [{ provider: first.provider, state: first.state, count: 1 + more.length }],
    ),
    lagging: skipped !== 0,
    skipped,
  }
}

function matches(event: ShownEvent, filter: Omit<TailInput, 'lastEventId'>): boolean {
  const { provider = event.provider, type = event.type, state = event.state } = filter
  const { reason = event.reason, orderId = event.orderId, handler = event.handler } = filter
  return [
    ...[event.provider === provider, event.type === type, event.state === state],
    ...[event.reason === reason, event.orderId === orderId, event.handler === handler],
  ].every(Boolean)
}
