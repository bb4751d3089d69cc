import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import type { Confirmed, Provider, WebhookEvent } from '@oncehook/webhooks/providers'
import type { EventDocument } from '../../inbox/event-document.ts'
import { type ReverifyDeps, reverifyEvent } from '../events/reverify-event.ts'

/** The fields of a record that are read from its body; its id, if it could not be read before. */
type MappedFields = Pick<EventDocument, 'type' | 'objectId' | 'orderId' | 'facts'> &
  Partial<Pick<EventDocument, 'eventId'>>

/**
 * The contents of a body by the current settings, or why it cannot be read now: the failure that `reverifyEvent` found,
 * `unreadable` (it is not an event by the current settings), `event_missing` (it contains another event) or the answer
 * of the provider (`not_confirmed`, …; `unavailable` if it did not answer).
 */
export type RemapResult = { readonly members: MappedFields } | { readonly failure: string }

const CONFIRM_MS = 3_000

/** The events of a delivery by the current settings, or why it cannot be read now. */
export type DeliveryRead = { readonly answers: readonly Confirmed[] } | { readonly failure: string }

/** Reads a stored body with the current settings: a corrected mapping is a common reason for a replay. Never throws. */
export async function remap(record: EventDocument, deps: ReverifyDeps): Promise<RemapResult> {
  return pickEvent(await readDelivery(record, deps), record)
}

/** Reads all events of a stored body with the current settings. Never throws. */
export async function readDelivery(record: EventDocument, deps: ReverifyDeps): Promise<DeliveryRead> {
  try {
    const provider = deps.providers().get(record.provider)
    if (provider === undefined) return { failure: 'provider_unknown' }
    const { verified, failure } = await reverifyEvent(record, deps)
    if (verified === null) return { failure: failure ?? 'unreadable' }
    return { answers: await confirmAll(provider, provider.readEvents(verified), deps.fetch) }
  } catch {
    return { failure: 'unreadable' }
  }
}

/**
 * Picks the event of a record from a delivery that was read. A record that could not be read before gets the key that the event
 * has now: later deliveries of it are duplicates.
 */
export function pickEvent(
  read: DeliveryRead,
  { eventId, facts: { withheld, pointer } }: Pick<EventDocument, 'eventId' | 'facts'>,
): RemapResult {
  if ('failure' in read) return read
  const events = read.answers.flatMap((answer) => ('event' in answer ? [answer.event] : []))
  const found = events.find(({ id }) => id === eventId)
  const inItsPlace = () => events.find(({ facts }) => facts.pointer === pointer)
  const event = found ?? (withheld === 'unreadable' ? inItsPlace() : undefined)
  if (event === undefined) {
    const refusal = read.answers.find((answer) => 'refused' in answer)
    return { failure: refusal?.refused ?? 'event_missing' }
  }
  const { type, objectId = '' } = event
  const { orderId, ...facts } = event.facts
  return { members: { type, objectId, orderId, facts, ...(found === undefined ? { eventId: event.id } : {}) } }
}

/** If the signature is not strong enough, only the provider's answer counts, at a replay as well as at the receipt. */
async function confirmAll(
  { confirm }: Provider,
  events: readonly WebhookEvent[],
  fetch: ReverifyDeps['fetch'],
): Promise<readonly Confirmed[]> {
  if (confirm === undefined) return events.map((event) => ({ event }))
  const unavailable = [{ refused: 'unavailable' }]
  const asked = Promise.all(events.map((event) => confirm(event, fetch))).catch(() => unavailable)
  const answers = await withTimeout(asked, CONFIRM_MS)
  return answers === TIMED_OUT ? unavailable : answers
}
