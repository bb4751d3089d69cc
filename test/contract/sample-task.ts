import { sampleClaim } from '@oncehook/gateway/testing/sample-claim'
import { type TaskEvent, writeTaskEvent } from '../../packages/gateway/src/handlers/task-event.ts'

/** The handler of the contracts. */
export const HANDLER = 'billing'
/** A type that the handler of the contracts acts on. */
export const TYPE = 'customer.subscription.deleted'

/** What a test chooses about a task. */
interface SampleTask {
  readonly eventId: string
  readonly type: string
  /** When the delivery came. */
  readonly receivedAt: string
  /** The body of the delivery. */
  readonly raw: Buffer
}

/** The first attempt of a task, as the gateway writes it. */
export function sampleTask({ eventId, type, receivedAt, raw }: SampleTask): TaskEvent {
  const facts = { occurredAt: '2026-11-26T10:00:00Z' }
  const record = { type, objectId: `sub_of_${eventId}`, orderId: '', facts }
  const claim = sampleClaim(eventId, { provider: 'stripe', handler: HANDLER }, record)
  return writeTaskEvent(claim, HANDLER, { receivedAt: new Date(receivedAt), attempt: 1, raw })
}
