// Merchants of record, which sell in their own name, as data; see payments.ts.
import { PAYMENTS } from '../events/permits.ts'
import { orderIn, type Preset } from './preset.ts'

const PAID = 'payment.succeeded'
const FAILED = 'payment.failed'

export const MERCHANT_OF_RECORD_PRESETS: readonly Preset[] = [
  /**
   * docs.creem.io/code/webhooks; the npm library creem: no time is signed. A checkout of a trial collects nothing
   * (docs.creem.io/features/trials).
   */
  {
    name: 'creem',
    signature: { header: 'creem-signature' },
    read: {
      id: '/id',
      type: '/eventType',
      object: '/object/id',
      order: [...orderIn('/object/metadata'), '/object/request_id'],
      amount: '/object/order/amount',
      currency: '/object/order/currency',
      time: '/created_at',
    },
    types: {
      'checkout.completed': {
        is: PAID,
        where: [
          { '/object/order/status': 'paid', '/object/order/type': 'onetime' },
          { '/object/order/status': 'paid', '/object/subscription/status': 'active' },
        ],
      },
    },
    redelivery: { hours: 2, source: 'docs.creem.io/code/webhooks: 4 retries' },
    permits: { ...PAYMENTS, origin: ['/object/mode'] },
    sent: { failed: 'subscription.expired' },
  },
  /** docs.dodopayments.com/developer-resources/webhooks; the npm library dodopayments: its names of types are ours. */
  {
    name: 'dodo',
    signature: { checkedAs: 'standard-webhooks', headerPrefix: 'webhook-' },
    read: {
      type: '/type',
      object: ['/data/payment_id', '/data/subscription_id', '/data/refund_id', '/data/dispute_id'],
      order: orderIn('/data/metadata'),
      amount: '/data/total_amount',
      currency: '/data/currency',
      time: '/timestamp',
    },
    types: { 'payment.cancelled': FAILED },
    permits: { ...PAYMENTS, origin: ['/business_id'] },
    sent: { failed: 'payment.failed' },
  },
  /** docs.lemonsqueezy.com/help/webhooks/signing-requests: it sends no event id. The status of an order shows whether it is paid. */
  {
    name: 'lemonsqueezy',
    signature: { header: 'X-Signature' },
    read: {
      type: '/meta/event_name',
      status: '/data/attributes/status',
      object: '/data/id',
      order: orderIn('/meta/custom_data'),
      amount: '/data/attributes/total',
      currency: '/data/attributes/currency',
      time: ['/data/attributes/updated_at', '/data/attributes/created_at'],
    },
    types: {
      'order_created.paid': PAID,
      'order_created.failed': FAILED,
      subscription_payment_success: PAID,
      subscription_payment_failed: FAILED,
    },
    redelivery: { hours: 1, source: 'docs.lemonsqueezy.com/help/webhooks' },
    permits: { ...PAYMENTS, origin: ['/meta/test_mode', '/data/attributes/store_id'] },
  },
  /**
   * developer.paddle.com/webhooks/signature-verification: during a rotation there are several `h1`, in any order. Paddle's own
   * libraries allow 5 seconds, which loses deliveries.
   */
  {
    name: 'paddle',
    signature: {
      ...{ header: 'Paddle-Signature', separator: ';', timestampPrefix: 'ts=', prefix: 'h1=' },
      signedText: '{timestamp}:{body}',
    },
    read: {
      id: '/event_id',
      type: '/event_type',
      object: '/data/id',
      order: orderIn('/data/custom_data'),
      amount: '/data/details/totals/grand_total',
      currency: '/data/currency_code',
      time: '/occurred_at',
    },
    types: { 'transaction.completed': PAID, 'transaction.payment_failed': FAILED },
    redelivery: { hours: 72, source: 'developer.paddle.com/webhooks: 60 retries' },
  },
  /** docs.polar.sh/integrate/webhooks; the npm library @polar-sh/sdk: the text of the secret is the key. */
  {
    name: 'polar',
    signature: { checkedAs: 'standard-webhooks', headerPrefix: 'webhook-', secretIsText: true },
    read: {
      type: '/type',
      object: '/data/id',
      order: orderIn('/data/metadata'),
      amount: '/data/total_amount',
      currency: '/data/currency',
      time: '/timestamp',
    },
    types: { 'order.paid': PAID },
    sent: { failed: 'checkout.expired' },
  },
]
