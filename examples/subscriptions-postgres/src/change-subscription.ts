import { type HandlerEvent, Refusal } from '@oncehook/handler'
import type { PostgresTransaction } from '@oncehook/handler/postgres'
import type { PoolClient } from 'pg'

/** The steps in the life of a subscription, in their order. Stripe's times are whole seconds, so two changes may have the same. */
const STEPS = ['created', 'updated', 'deleted']

const CHANGE = `
  insert into subscriptions (id, customer, status, changed_at, step) values ($1, $2, $3, $4, $5)
  on conflict (id) do update
  set customer = excluded.customer, status = excluded.status, changed_at = excluded.changed_at, step = excluded.step
  where (subscriptions.changed_at, subscriptions.step) <= (excluded.changed_at, excluded.step)`

/**
 * Writes down a change of a subscription. Events may come in another order than they happened: an older change is kept in the
 * history, but does not replace a newer one.
 */
export async function changeSubscription(event: HandlerEvent, tx: PostgresTransaction<PoolClient>): Promise<void> {
  const { type, occurredAt } = event
  const { id, customer, status } = readSubscription(event)
  const step = STEPS.indexOf(type.replace('customer.subscription.', ''))
  await tx.query(CHANGE, [id, customer, status, occurredAt, step])
  await tx.query('insert into subscription_changes (subscription, type, occurred_at) values ($1, $2, $3)', [
    id,
    type,
    occurredAt,
  ])
  if (type === 'customer.subscription.deleted') tx.later('farewell', { customer })
}

interface Subscription {
  readonly id: string
  readonly customer: string
  readonly status: string
}

function readSubscription({ data, occurredAt }: HandlerEvent): Subscription {
  const { id, customer, status } = (data as { object?: Partial<Subscription> } | undefined)?.object ?? {}
  if (id && customer && status && occurredAt) return { id, customer, status }
  // No attempt will change that. The gateway keeps the event as dead.
  throw new Refusal('never', 'The event has no subscription with a customer, a status and a time')
}
