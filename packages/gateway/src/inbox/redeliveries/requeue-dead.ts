import type { EventDocument } from '../event-document.ts'

/** How many times, and for how long after the first delivery, a redelivery revives a dead event. */
export interface RequeueLimits {
  readonly maxRevivals: number
  /** Milliseconds after the first delivery, for the deliveries of a provider. */
  redeliveryMs(provider: string): number
}

/** Why a redelivery did not revive a dead event. `body_missing`: its handler needs the body, which was removed. */
export type NotRequeued = 'too_late' | 'too_often' | 'body_missing'

/** The values that the limits apply to. `ageMs` is the time since the first delivery, by the database's clock. */
export interface DeadEvent extends Pick<EventDocument, 'provider' | 'revivals'> {
  readonly ageMs: number
}

/** Whether another delivery revives a dead event; if not, why. */
export function checkRequeue({ provider, revivals = 0, ageMs }: DeadEvent, limits: RequeueLimits): true | NotRequeued {
  if (ageMs > limits.redeliveryMs(provider)) return 'too_late'
  return revivals >= limits.maxRevivals ? 'too_often' : true
}
