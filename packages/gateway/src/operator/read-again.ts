import { LATE, within } from '@oncehook/kernel/within'
import type { WebhookEvent } from '../event.ts'
import type { EventDocument } from '../inbox/event-document.ts'
import type { Provider } from '../providers/provider.ts'
import type { Providers } from '../providers/read-providers.ts'
import { reverifyEvent } from './reverify-event.ts'

/** What an event is read again with. */
export interface ReadAgainDeps {
  readonly providers: () => Providers
  readonly fetch: typeof globalThis.fetch
}

/** The members of a record that are read out of its body. */
export type ReadMembers = Pick<EventDocument, 'type' | 'objectId' | 'orderId' | 'facts'>

const CONFIRM_MS = 3_000

/**
 * What a stored body says by the settings of today: a mended mapping is a usual reason for a replay. Empty where nothing
 * can be read anew: no secret of today matches, the body is gone, or its provider does not confirm it now. Then what was
 * read at the time of receipt stands.
 */
export async function readAgain(
  record: EventDocument,
  { providers, fetch }: ReadAgainDeps,
): Promise<ReadMembers | Record<string, never>> {
  const provider = providers().get(record.provider)
  if (provider === undefined) return {}
  try {
    const { verified } = await reverifyEvent(record, providers())
    if (verified === null) return {}
    const events = await confirmed(provider, provider.readEvents(verified), fetch)
    const event = events.find(({ id }) => id === record.eventId)
    if (event === undefined) return {}
    const { orderId, ...facts } = event.facts
    return { type: event.type, objectId: event.objectId, orderId, facts }
  } catch {
    return {}
  }
}

/** What is not signed well enough counts only as its provider says, at a replay as at the receipt. */
async function confirmed(
  { confirm }: Provider,
  events: readonly WebhookEvent[],
  fetch: ReadAgainDeps['fetch'],
): Promise<readonly WebhookEvent[]> {
  if (confirm === undefined) return events
  const answers = await within(Promise.all(events.map((event) => confirm(event, fetch))), CONFIRM_MS)
  return answers === LATE ? [] : answers.flatMap((answer) => ('event' in answer ? [answer.event] : []))
}
