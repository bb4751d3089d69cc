import type { EventDocument } from '../../inbox/event-document.ts'
import { FULFILMENT } from '../../inbox/event-document.ts'
import { findAwaited } from '../../inbox/lines/find-awaited.ts'
import type { OperatorContext } from '../operator-trpc.ts'

/** Why a pending event is not sent now. */
export interface ShownWaiting {
  /** The id of the earlier task of its line that is still open. Null: it waits for none, or the database did not answer. */
  readonly waitsFor: string | null
  /** Why none of these tasks is sent. Null: they are sent, or it is not pending. */
  readonly notSent: 'handler_removed' | 'handler_paused' | 'provider_paused' | null
}

type Waiting = Pick<EventDocument, '_id' | 'state' | 'provider' | 'handler' | 'line'>
type WaitingContext = Pick<OperatorContext, 'db' | 'handlers' | 'handlerPauses' | 'pauses'>

/** Finds out why an event waits, by what this process knows of pauses. Costs a look at an index if it is in a line. */
export async function explainWaiting(ctx: WaitingContext, event: Waiting): Promise<ShownWaiting> {
  if (event.state !== 'pending') return { waitsFor: null, notSent: null }
  const blockOnDead = ctx.handlers?.().get(event.handler)?.blockOnDead === true
  const awaited = await findAwaited(ctx.db, event, blockOnDead).catch(() => null)
  return { waitsFor: awaited === null ? null : String(awaited), notSent: whyNotSent(ctx, event) }
}

function whyNotSent(
  { handlers, handlerPauses, pauses }: WaitingContext,
  { provider, handler }: Waiting,
): ShownWaiting['notSent'] {
  const settings = handlers?.().get(handler)
  if (handler !== FULFILMENT && settings === undefined) return 'handler_removed'
  if (settings?.paused === true || handlerPauses.current.has(handler)) return 'handler_paused'
  return pauses.current.has(provider) ? 'provider_paused' : null
}
