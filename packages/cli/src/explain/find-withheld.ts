import { createProvider, type PaymentFacts } from '@oncehook/webhooks/providers'
import { SCHEMES } from '../verify/schemes.ts'
import type { GivenCase } from '../verify/verify-given.ts'

/** Why an authentic delivery has no effect. */
export type Withheld = NonNullable<PaymentFacts['withheld']> | 'amount_missing'

const MAX_BYTES = 16_000_000

/**
 * The provider settings that keep the events of an authentic delivery from having an effect, each once. Empty if the gateway
 * has to query the provider first, or if no event can be read.
 */
export async function findWithheld({ asked, delivery, now, fetch }: GivenCase): Promise<readonly Withheld[]> {
  const provider = createProvider({ ...asked, maxBytes: MAX_BYTES }, SCHEMES)
  if ('problems' in provider || provider.confirm !== undefined) return []
  const verdict = await provider.verify(delivery, now, fetch)
  if ('refused' in verdict) return []
  try {
    const events = provider.answerHandshake(verdict) === null ? provider.readEvents(verdict) : []
    const reasons = events.map(({ facts }) => facts.withheld ?? facts.unreadable)
    return [...new Set(reasons.filter((reason) => reason !== undefined && reason in SAYS))] as Withheld[]
  } catch {
    return []
  }
}

const SAYS: Readonly<Record<Withheld, string>> = {
  not_expected: 'No effect: mode or account does not match `expect` of the provider (or `testMode` for Stripe)',
  effect_not_allowed: 'No effect: `effects` of the provider does not include this type',
  amount_missing: 'It will be dead: it has no amount with a currency, and `requireAmount` requires both',
}

/** The text for a reason. */
export function describeWithheld(reason: Withheld): string {
  return `${SAYS[reason]} (${reason})`
}
