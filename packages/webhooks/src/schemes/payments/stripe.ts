import { z } from 'zod'
import { jsonReader } from '../../events/event-reader.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { findPlainEvent } from '../../events/plain-event.ts'
import { listSignature } from '../../signatures/list-signature.ts'
import { defineScheme } from '../scheme.ts'
import { amountMembers, isoUnitsOfStripe, STRIPE_DECIMALS, unpaidStateOf } from './stripe-money.ts'

const TYPES = {
  'payment_intent.succeeded': 'payment.succeeded',
  'payment_intent.payment_failed': 'payment.failed',
} as const

/**
 * Stripe (docs.stripe.com/webhooks/signature): HMAC-SHA256 in hexadecimal over timestamp, full stop and body; the key
 * is the whole `whsec_` text. Only `v1` counts; `v0` and unknown items are ignored. A live endpoint for
 * connected accounts also gets their test events, with the same signature, so `livemode` decides. A thin event
 * (docs.stripe.com/event-destinations) has `related_object` instead of `data`, and `created` as ISO 8601.
 */
export const stripe = defineScheme(
  'stripe',
  { testMode: z.boolean().optional() },
  {
    ...listSignature({ header: 'stripe-signature', separator: ',', time: 't', signature: 'v1', between: '.' }),
    redelivery: { hours: 720, source: 'docs.stripe.com/webhooks: resending by hand for 30 days' },
    permits: { ...PAYMENTS, expect: ({ testMode }) => ({ '/livemode': testMode !== true }), origin: ['/account'] },
    prepareReader: jsonReader(TYPES, (body, at) => {
      const unpaid = unpaidStateOf(at('/data/object'))
      const membersOf = (type: string): readonly string[] => amountMembers(type, unpaid)
      const plain = findPlainEvent(body, { amountMembers: membersOf, toIsoUnits: isoUnitsOfStripe })
      // A thin event names its object only.
      const found = { ...plain, decimals: STRIPE_DECIMALS, objectId: plain.objectId ?? at('/related_object/id') }
      return unpaid === undefined ? found : { ...found, unpaid }
    }),
  },
)
