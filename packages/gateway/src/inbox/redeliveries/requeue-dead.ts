import type { WebhookEvent } from '@oncehook/webhooks/providers'
import type { EventDocument } from '../event-document.ts'
import { raised } from '../record-expressions.ts'

/** How many times, and for how long after the first delivery, a redelivery revives a dead event. */
export interface RevivalLimits {
  readonly maxRevivals: number
  /** Milliseconds after the first delivery, for the deliveries of a provider. */
  redeliveryMs(provider: string): number
}

/** Why a redelivery did not revive a dead event. */
export type NotRevived = 'too_late' | 'too_often'

/** The values that the limits apply to. `ageMs` is the time since the first delivery, by the database's clock. */
export interface DeadEvent extends Pick<EventDocument, 'provider' | 'revivals'> {
  readonly ageMs: number
}

/** Whether another delivery revives a dead event; if not, why. */
export function judgeRevival({ provider, revivals = 0, ageMs }: DeadEvent, limits: RevivalLimits): true | NotRevived {
  if (ageMs > limits.redeliveryMs(provider)) return 'too_late'
  return revivals >= limits.maxRevivals ? 'too_often' : true
}

/**
 * The update stage that gives a dead event one more attempt, with the fields that today's settings read from its body.
 * No limit starts again: neither the count of crashes, nor the time since its first failure, nor the time since its
 * order was first unknown. So redeliveries cannot keep an event alive. A record that is not dead stays as it is.
 */
export function revival({ type, objectId, facts: { orderId, ...facts } }: WebhookEvent): object {
  const remapped = Object.entries({ type, objectId, orderId, facts }).map(([name, value]) => [
    name,
    { $literal: value },
  ])
  const change = {
    ...Object.fromEntries(remapped),
    state: 'pending',
    reason: null,
    failures: 0,
    revivals: raised('revivals'),
    dueAt: '$$NOW',
    settledAt: '$$REMOVE',
    stripAt: '$$REMOVE',
  }
  const whenDead = ([name, value]: [string, unknown]): [string, object] => [
    name,
    { $cond: [{ $eq: ['$state', 'dead'] }, value, `$${name}`] },
  ]
  return { $set: Object.fromEntries(Object.entries(change).map(whenDead)) }
}
