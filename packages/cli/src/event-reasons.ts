import type { PaymentFacts, UnhandledReason } from '@oncehook/webhooks/providers'

/** Why an authentic event has no effect, or none that it should have. */
export type EventReason = UnhandledReason | NonNullable<PaymentFacts['unreadable']>

export interface ExplainedReason {
  /** A clause. */
  readonly why: string
  /** A sentence. */
  readonly cure: string
  /** Whether such events come although every setting is right. */
  readonly isUsual: boolean
}

const usual = { isUsual: true }
const wrong = { isUsual: false }

/** Every reason that the settings of a provider can give an event. */
export const EVENT_REASONS: Readonly<Record<EventReason, ExplainedReason>> = {
  type_unhandled: {
    ...usual,
    why: 'its type is not mapped to a payment, or it does not meet the conditions of its mapping (`where`)',
    cure: 'If it is one, correct `events` of the provider, then replay it',
  },
  not_expected: {
    ...wrong,
    why: 'its mode or account is not the one that the provider has to send (`expect`; for Stripe `livemode` and `account`)',
    cure: 'If it is yours, correct `expect`, or set "testMode": true for test events of Stripe, then replay it',
  },
  effect_not_allowed: {
    ...wrong,
    why: '`effects` of the provider does not include its type',
    cure: 'If the provider may do this, add its type to `effects`, then replay it',
  },
  not_paid: {
    ...usual,
    why: 'its object is not paid yet',
    cure: 'The event of its payment follows. To count this one, map its type with `.unpaid` or `.uncaptured` after it in `events`, then replay it',
  },
  ambiguous: {
    ...usual,
    why: 'a signed property contains a colon, so its signature would fit another item too',
    cure: 'No setting changes that: if it matters, look it up at the provider',
  },
  unreadable: {
    ...wrong,
    why: 'nobody could read it as an event',
    cure: 'Compare its body with the scheme and the mapping of the provider; correct the settings or update Oncehook, then replay it: it is read again',
  },
  amount_missing: {
    ...wrong,
    why: 'it has no amount with a currency',
    cure: 'If its type never has one, set "requireAmount": false, then replay it',
  },
  amount_mismatch: {
    ...wrong,
    why: 'its amount differs from the order, or is no amount',
    cure: 'Compare both: correct the order or the mapping, then replay it',
  },
  currency_mismatch: {
    ...wrong,
    why: 'its currency differs from the order, or is no currency',
    cure: 'Compare both: correct the order or the mapping, then replay it',
  },
}
