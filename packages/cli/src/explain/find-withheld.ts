import type { PaymentFacts, WebhookEvent } from '@oncehook/webhooks/providers'

/** Why an authentic delivery has no effect. */
export type Withheld = NonNullable<PaymentFacts['withheld']> | 'amount_missing'

/** The provider settings that keep events from having an effect, each once. */
export function findWithheld(events: readonly Pick<WebhookEvent, 'facts'>[]): readonly Withheld[] {
  const reasons = events.map(({ facts }) => facts.withheld ?? facts.unreadable)
  return [...new Set(reasons.filter((reason) => reason !== undefined && reason in SAYS))] as Withheld[]
}

const SAYS: Readonly<Record<Withheld, string>> = {
  not_expected: 'No effect: mode or account does not match `expect` of the provider (or `testMode` for Stripe)',
  unreadable: 'No effect: nobody could read it as an event. It is kept, and a replay reads it again',
  effect_not_allowed: 'No effect: `effects` of the provider does not include this type',
  not_paid:
    'No effect: the object is not paid. To count it, map its type with `.unpaid` or `.uncaptured` after it in `events`',
  ambiguous: 'No effect: a signed property contains a colon, so the signature would fit another item too',
  amount_missing: 'It will be dead: it has no amount with a currency, and `requireAmount` requires both',
}

/** The text for a reason. */
export function describeWithheld(reason: Withheld): string {
  return `${SAYS[reason]} (${reason})`
}
