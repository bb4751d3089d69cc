import { hash } from 'node:crypto'
import { ObjectId } from 'mongodb'
import type { Audit } from '../audit/audit.ts'
import type { OperatorContext } from '../operator-trpc.ts'
import type { EventFilter } from './event-filter.ts'

const HOUR_SECONDS = 3_600

interface SearchContext extends Pick<OperatorContext, 'clock' | 'operator'> {
  readonly audit: Pick<Audit, 'has' | 'record'>
}

/**
 * Adds a search for a text in bodies to the audit log. All pages of a search share one entry if the same operator
 * requests them within the same hour. The text may be personal data, so the entry contains only its SHA-256.
 */
export async function recordBodySearch(
  { audit, clock, operator }: SearchContext,
  { filter, text }: { readonly filter: EventFilter; readonly text: string },
): Promise<void> {
  const details = { ...filter, textHash: hash('sha256', text) }
  const id = idOfSearch(Math.floor(clock.now() / 1_000 / HOUR_SECONDS), { operator, ...details })
  if (await audit.has(id)) return
  await audit.record({ id, by: operator, action: 'events.search-bodies', reason: null, details })
}

function idOfSearch(hour: number, search: object): ObjectId {
  const digest = hash('sha256', JSON.stringify([hour, search]))
  return new ObjectId((hour * HOUR_SECONDS).toString(16).padStart(8, '0') + digest.slice(0, 16))
}
