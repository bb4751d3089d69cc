import type { VerifiedDelivery } from '../delivery.ts'
import { normalizeEvent, type PrepareReader } from './event-reader.ts'
import type { FoundEvent } from './found-event.ts'

/**
 * Reads deliveries of one event each that prove nothing until the provider confirms it: neither the scheme nor the settings
 * map its type, and it has no facts.
 */
export function unconfirmedReader(
  find: (delivery: VerifiedDelivery) => Pick<FoundEvent, 'id' | 'type' | 'objectId'>,
): PrepareReader {
  return () => (delivery) => [normalizeEvent(find(delivery), {}, { types: {} })]
}
