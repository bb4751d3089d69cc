import { unhandledReason } from '@oncehook/webhooks/providers'
import type { Arrival, InboxDeps, Recorded } from '../inbox.ts'
import type { TaskWish } from '../lines/line.ts'

/**
 * The tasks of an arrival, each as a separate arrival: one for each handler that wants the event, and one without a
 * handler if fulfilment wants it or nobody does.
 */
export function splitArrival({ tests, isHandled }: InboxDeps, arrival: Arrival): readonly Arrival[] {
  const { wantedBy, event } = arrival
  if (wantedBy === undefined || wantedBy.length === 0) return [arrival]
  // Such a test event is for nobody.
  if (tests !== undefined && tests.reason !== null) return [arrival]
  const own = unhandledReason(event, isHandled) === null ? [arrival] : []
  return [...own, ...wantedBy.map((wish, at) => ({ ...arrival, ...toTask(wish), isFurther: own.length + at > 0 }))]
}

/** The handler of a wish, and the line of its task if there is one. */
export function toTask(wish: TaskWish): Pick<Arrival, 'handler' | 'line'> {
  return typeof wish === 'string' ? { handler: wish } : wish
}

/** The outcome of an event, from those of its tasks: it is stored if all of them are, and new if any of them is. */
export function joinOutcomes(outcomes: readonly Recorded[]): Recorded {
  if (outcomes.length === 0 || outcomes.includes('not_stored')) return 'not_stored'
  return outcomes.includes('recorded') ? 'recorded' : 'duplicate'
}
