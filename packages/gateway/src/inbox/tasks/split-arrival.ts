import { unhandledReason } from '@oncehook/webhooks/providers'
import { FULFILMENT, NOBODY } from '../event-document.ts'
import type { Arrival, InboxDeps, Recorded, Task } from '../inbox.ts'
import type { TaskWish } from '../lines/line.ts'

/**
 * The tasks of an arrival: one for fulfilment if it wants the event, and one for each handler that does; else one for nobody.
 * A test event without effect is for no handler, but it has the key of fulfilment: a copy that is delivered has no effect.
 */
export function splitArrival({ tests, isHandled }: InboxDeps, arrival: Arrival): readonly Task[] {
  const { wantedBy = [], event } = arrival
  if (tests !== undefined && tests.reason !== null) return [{ ...arrival, handler: FULFILMENT }]
  const own = unhandledReason(event, isHandled) === null ? [{ handler: FULFILMENT }] : []
  const wanted = [...own, ...wantedBy.map(toTask)]
  if (wanted.length === 0) return [{ ...arrival, handler: NOBODY }]
  return wanted.map((task, at) => ({ ...arrival, ...task, isFurther: at > 0 }))
}

/** The handler of a wish, and the line of its task if there is one. */
export function toTask(wish: TaskWish): Pick<Task, 'handler' | 'line'> {
  return typeof wish === 'string' ? { handler: wish } : wish
}

/** The outcome of an event, from those of its tasks: it is stored if all of them are, and new if any of them is. */
export function joinOutcomes(outcomes: readonly Recorded[]): Recorded {
  if (outcomes.length === 0 || outcomes.includes('not_stored')) return 'not_stored'
  return outcomes.includes('recorded') ? 'recorded' : 'duplicate'
}
