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
    sample: {
      ...{ id: 'evt_1', eventType: 'checkout.completed', created_at: 1728734325927 },
      object: {
        ...{ id: 'ch_1', object: 'checkout', request_id: 'my-request-id', status: 'completed', mode: 'test' },
        order: { id: 'ord_1', amount: 1000, currency: 'EUR', status: 'paid', type: 'recurring' },
        subscription: { id: 'sub_1', status: 'active' },
        metadata: { order_id: 'order_1' },
      },
    },
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
    sample: {
      ...{ business_id: 'bus_1', type: 'payment.succeeded', timestamp: '2025-08-04T05:43:31.620Z' },
      data: {
        ...{ payload_type: 'Payment', payment_id: 'pay_1', status: 'succeeded', metadata: { order_id: 'order_1' } },
        ...{ total_amount: 400, currency: 'USD', tax: 0, settlement_amount: 400, settlement_currency: 'USD' },
      },
    },
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
    sample: {
      meta: { test_mode: true, event_name: 'order_created', custom_data: { order_id: 'order_1' } },
      data: {
        ...{ type: 'orders', id: '1' },
        attributes: {
          ...{ store_id: 1, identifier: '104e18a2-d755-4d4b-80c4-a6c1dcbe1c10', order_number: 1, currency: 'USD' },
          ...{ status: 'pending', total: 1199, created_at: '2021-08-11T13:47:27.000000Z' },
          updated_at: '2021-08-11T13:47:27.000000Z',
        },
      },
    },
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
    sample: {
      ...{ event_id: 'evt_1', event_type: 'transaction.completed', notification_id: 'ntf_1' },
      occurred_at: '2024-04-12T10:18:49.621022Z',
      data: {
        ...{ id: 'txn_1', status: 'completed', currency_code: 'USD', custom_data: { order_id: 'order_1' } },
        details: { totals: { subtotal: '5500', tax: '488', total: '5988', grand_total: '5988' } },
      },
    },
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
    sample: {
      ...{ type: 'order.paid', timestamp: '2025-01-03T13:37:00.000Z' },
      data: {
        ...{
          id: '00000000-0000-4000-8000-000000000001',
          status: 'paid',
          paid: true,
          metadata: { order_id: 'order_1' },
        },
        ...{ total_amount: 1200, tax_amount: 200, currency: 'usd', created_at: '2025-01-03T13:37:00.000Z' },
      },
    },
    sent: { failed: 'checkout.expired' },
  },
]
