import { sampleClaim } from '@oncehook/gateway/testing/sample-claim'
import { type TaskEvent, writeTaskEvent } from '../../packages/gateway/src/handlers/task-event.ts'

/** The handler of the contracts. */
export const HANDLER = 'billing'
/** A type that the handler of the contracts acts on. */
export const TYPE = 'customer.subscription.deleted'

/** What a contract chooses about a task. */
interface SampleTask {
  readonly eventId: string
  readonly type?: string
  /** Default: 1. */
  readonly attempt?: number
  /** When the delivery came. */
  readonly receivedAt?: string
  /** The body of the delivery, if it is not that of the event. */
  readonly raw?: Buffer
  /** Where the event is in a body with several. */
  readonly pointer?: string
  /** Properties that a later gateway may add. */
  readonly added?: Readonly<Record<string, string>>
}

/** A task as the gateway writes it, of an event with this id. */
export function sampleTask(sample: SampleTask): TaskEvent {
  const { eventId, type = TYPE, attempt = 1, receivedAt: at = '2026-11-26T10:00:01.000Z', raw, pointer, added } = sample
  const body = { id: eventId, type, data: { object: { id: `sub_of_${eventId}`, plan: 'gold' } } }
  const facts = { orderId: '', occurredAt: '2026-11-26T10:00:00Z', ...(pointer === undefined ? {} : { pointer }) }
  const { orderId, ...others } = facts
  const record = { type, objectId: `sub_of_${eventId}`, orderId, facts: others }
  const claim = sampleClaim(eventId, { provider: 'stripe', handler: HANDLER }, record)
  const receivedAt = new Date(at)
  const task = writeTaskEvent(claim, HANDLER, { receivedAt, attempt, raw: raw ?? Buffer.from(JSON.stringify(body)) })
  if (added === undefined) return task
  return { ...task, json: `${JSON.stringify(added).slice(0, -1)},${task.json.slice(1)}` }
}
