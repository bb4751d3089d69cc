import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import { PROVIDER } from '../receivers/oncehook/describe-system.ts'

/** A provider with many events. */
export const BUSY_PROVIDER = PROVIDER

/** A provider without recent events: only the oldest thousandth of the events comes from it. */
export const SILENT_PROVIDER = 'twilio'

const OTHER_PROVIDER = 'adyen'
const DAY_MS = 86_400_000
const WHY_DEAD = 'order_unknown'

/**
 * The properties in which event `index` of `count` differs from a settled payment. They make a store look like one in
 * use: nine of ten events are done, others have no effect, are dead or are closed; few have repeated or changed copies.
 */
export function mixedEvent(
  { receivedAt }: Pick<EventDocument, 'receivedAt'>,
  { index, count }: { readonly index: number; readonly count: number },
): Partial<EventDocument> {
  return { ...stateOf(index, receivedAt), ...deliveriesOf(index), provider: providerOf(index, count) }
}

function providerOf(index: number, count: number): string {
  if (index < count / 1_000) return SILENT_PROVIDER
  return index % 8 === 0 ? OTHER_PROVIDER : BUSY_PROVIDER
}

function stateOf(index: number, receivedAt: Date): Partial<EventDocument> {
  // 97 is prime, so every state occurs with every provider.
  const place = index % 97
  if (place < 6) return { state: 'unhandled', type: 'charge.updated', outcome: null }
  if (place < 8) return { state: 'dead', reason: WHY_DEAD, outcome: null }
  if (place > 8) return {}
  const closed = { at: new Date(receivedAt.getTime() + DAY_MS), by: 'alice', reason: 'was paid by hand' }
  return { state: 'closed', reason: WHY_DEAD, outcome: null, closed }
}

function deliveriesOf(index: number): Partial<EventDocument> {
  if (index % 1_009 === 0) return { deliveries: 2, mismatches: 1 }
  return index % 53 === 0 ? { deliveries: 3 } : {}
}
