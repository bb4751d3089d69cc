import { z } from 'zod'
import { singleHeader } from '../../delivery.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { readEvent, readStrictObject } from '../../events/read-event.ts'
import { bytesOf, onlyValueOf } from '../../signatures/member-list.ts'
import { findSigner, hmac, isWithinTolerance } from '../../signatures/signature.ts'
import { type CheckSignature, defineScheme, type Finding } from '../scheme.ts'
import { isoUnitsOfStripe } from './stripe-money.ts'

const TYPES = {
  'payment_intent.succeeded': 'payment.succeeded',
  'payment_intent.payment_failed': 'payment.failed',
} as const

/**
 * Stripe (docs.stripe.com/webhooks/signature): HMAC-SHA256 in hexadecimal over timestamp, full stop and body; the key
 * is the whole `whsec_` text. Only `v1` counts; `v0` and unknown members are ignored. A live endpoint for
 * connected accounts also gets their test events, with the same signature, so `livemode` decides.
 */
export const stripe = defineScheme(
  'stripe',
  { testMode: z.boolean().optional() },
  {
    readKey: (text) => Buffer.from(text, 'utf8'),
    signedHeaders: () => ['stripe-signature'],
    redelivery: { hours: 720, source: 'docs.stripe.com/webhooks: resending by hand for 30 days' },
    permits: { ...PAYMENTS, expect: ({ testMode }) => ({ '/livemode': testMode !== true }) },
    signsTime: () => true,
    prepare({ toleranceSeconds }, secrets): CheckSignature {
      return ({ rawHeaders, rawBody }, now): Finding => {
        const header = singleHeader(rawHeaders, 'stripe-signature')
        if (!header) return { refused: 'header_missing' }
        const members = { header, separator: ',' }
        const timestamp = onlyValueOf(members, 't')
        if (timestamp === undefined) return { refused: 'header_malformed' }
        if (!isWithinTolerance(timestamp, toleranceSeconds, now)) return { refused: 'timestamp_outside_window' }
        const signatures = bytesOf(members, 'v1')
        const macOf = (key: Parameters<typeof hmac>[1]): string => hmac('sha256', key, [`${timestamp}.`, rawBody])
        const secretId = findSigner(secrets, signatures, { now, macOf })
        return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
      }
    },
    prepareReader(settings) {
      const rules = { ...settings, types: TYPES, amountMembers, toIsoUnits: isoUnitsOfStripe }
      return ({ rawBody }) => [readEvent(readStrictObject(rawBody, true), rules)]
    },
  },
)

/**
 * The amount of a payment or charge, or the total of a checkout session or a paid invoice. A failed payment has an
 * `amount_received` of 0, so the requested amount counts.
 */
function amountMembers(type: string): readonly string[] {
  return type === 'payment.failed' ? ['amount'] : ['amount_received', 'amount', 'amount_total', 'amount_paid']
}
