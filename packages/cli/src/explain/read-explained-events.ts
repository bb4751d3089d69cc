import { createProvider, type WebhookEvent } from '@oncehook/webhooks/providers'
import type { GivenCase } from '../verify/verify-given.ts'

const MAX_BYTES = 16_000_000

/**
 * The events of an authentic delivery, as the gateway reads them. None if the gateway has to query the provider first, or
 * if no event can be read.
 */
export async function readExplainedEvents(given: GivenCase): Promise<readonly WebhookEvent[]> {
  const { asked, delivery, now, fetch } = given
  const provider = createProvider({ ...asked, maxBytes: MAX_BYTES })
  if ('problems' in provider || provider.confirm !== undefined) return []
  const verdict = await provider.verify(delivery, now, fetch)
  if ('refused' in verdict) return []
  try {
    return provider.answerHandshake(verdict) === null ? provider.readEvents(verdict) : []
  } catch {
    return []
  }
}
