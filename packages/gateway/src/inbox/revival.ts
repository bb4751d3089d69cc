import type { WebhookEvent } from '@oncehook/webhooks/event'
import type { EventDocument } from './event-document.ts'
import { raised } from './record-expressions.ts'

/** How often, and for how long after the first delivery, a repeated delivery revives a dead event. */
export interface RevivalLimits {
  readonly maxRevivals: number
  /** Milliseconds after the first delivery, for the deliveries of a provider. */
  redeliveryMs(provider: string): number
}

/** Why a repeated delivery left a dead event dead. */
export type NotRevived = 'too_late' | 'too_often'

/** What the limits are compared with. `ageMs` is the time since the first delivery, by the database's clock. */
export interface DeadEvent extends Pick<EventDocument, 'provider' | 'revivals'> {
  readonly ageMs: number
}

/** Whether one more delivery revives a dead event; if not, why. */
export function judgeRevival({ provider, revivals = 0, ageMs }: DeadEvent, limits: RevivalLimits): true | NotRevived {
  if (ageMs > limits.redeliveryMs(provider)) return 'too_late'
  return revivals >= limits.maxRevivals ? 'too_often' : true
}

/**
 * The stage of an update that gives a dead event one more attempt, with what today's settings read from its body. No
 * budget begins again: neither the count of crashes nor the times since its first failure and since its order was first
 * unknown, so that repeated deliveries cannot keep an event alive. A record that is not dead stays as it is.
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
