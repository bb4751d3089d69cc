import type { WebhookEvent } from '@oncehook/webhooks/providers'
import { prepareVerifier } from '../verify/verify-delivery.ts'
import type { GivenCase } from '../verify/verify-given.ts'

/** Why the gateway answers 400 to a delivery although its signature holds. */
export interface InvalidBody {
  readonly code: string
  readonly message: string
  /** What to do about it. */
  readonly fix: string
}

/** What the gateway reads in an authentic delivery. */
export type ExplainedReading =
  | { readonly events: readonly WebhookEvent[]; readonly isConfirmed: boolean }
  | { readonly invalid: InvalidBody }

/**
 * The events of an authentic delivery, as the gateway reads them. None if it has to query the provider first.
 * @throws UsageError if the gateway would not start with these settings
 */
export async function readExplainedEvents(given: GivenCase): Promise<ExplainedReading> {
  const { asked, delivery, now, fetch } = given
  const provider = prepareVerifier(asked)
  if (provider.confirm !== undefined) return { events: [], isConfirmed: true }
  const verdict = await provider.verify(delivery, now, fetch)
  if ('refused' in verdict) return { events: [], isConfirmed: false }
  try {
    const events = provider.answerHandshake(verdict) === null ? provider.readEvents(verdict) : []
    return { events, isConfirmed: false }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    return { invalid: { code: String(error.code), message: error.message, fix: fixOf(provider.refusesUnreadable) } }
  }
}

function fixOf(refusesUnreadable: boolean): string {
  return refusesUnreadable
    ? 'Let the sender send this shape, or say in `read` of the provider where the values are: then nothing authentic is refused'
    : 'Look at the body: its signature covers a checksum only, so a body that nobody can read proves nothing'
}
