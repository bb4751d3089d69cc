import { singleHeader } from './delivery.ts'
import { bytesOf, onlyValueOf } from './member-list.ts'
import { readEvent, readStrictObject } from './read-event.ts'
import { type CheckSignature, defineScheme, type Finding } from './scheme.ts'
import { findSigner, hmac, isWithinTolerance } from './signature.ts'

const TYPES = {
  'payment_intent.succeeded': 'payment.succeeded',
  'payment_intent.payment_failed': 'payment.failed',
} as const

/**
 * Stripe (docs.stripe.com/webhooks/signature): HMAC-SHA256 in hexadecimal over timestamp, full stop and body; the key
 * is the whole `whsec_` text. Only `v1` counts; `v0` and unknown members are passed over.
 */
export const stripe = defineScheme(
  'stripe',
  {},
  {
    readKey: (text) => Buffer.from(text, 'utf8'),
    signedHeaders: () => ['stripe-signature'],
    redelivery: { hours: 720, source: 'docs.stripe.com/webhooks: resending by hand for 30 days' },
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
      const rules = { ...settings, types: TYPES, amountMembers }
      return ({ rawBody }) => [readEvent(readStrictObject(rawBody, true), rules)]
    },
  },
)

/** What was received, else what was asked for; of a failure the former is 0, so that only the latter tells. */
function amountMembers(type: string): readonly string[] {
  return type === 'payment.failed' ? ['amount'] : ['amount_received', 'amount']
}
