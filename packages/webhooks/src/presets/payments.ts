// Payment providers that are only data. Each comment names the provider's document, and what of its behaviour is not in the data.
import { PAYMENTS } from '../events/permits.ts'
import { orderIn, type Preset } from './preset.ts'

const PAID = 'payment.succeeded'
const FAILED = 'payment.failed'

export const PAYMENT_PRESETS: readonly Preset[] = [
  /**
   * cashfree.com/docs/api-reference/webhooks/payloads-and-signatures: the key is the client secret. A timestamp of ten digits is in
   * seconds. No event id is signed, so it is made from the body, without the time, which every attempt may sign again.
   */
  {
    name: 'cashfree',
    signature: {
      ...{ header: 'x-webhook-signature', encoding: 'base64', signedText: '{timestamp}{body}' },
      ...{ timestampHeader: 'x-webhook-timestamp', timestampIn: 'milliseconds' },
    },
    read: {
      type: '/type',
      object: ['/data/payment/cf_payment_id', '/data/refund/cf_refund_id', '/data/order/order_id'],
      order: ['/data/order/order_id', '/data/refund/order_id'],
      amount: '/data/payment/payment_amount',
      amountIn: 'decimal',
      currency: '/data/payment/payment_currency',
      time: '/event_time',
    },
    types: {
      PAYMENT_SUCCESS_WEBHOOK: PAID,
      PAYMENT_FAILED_WEBHOOK: FAILED,
      PAYMENT_USER_DROPPED_WEBHOOK: FAILED,
    },
    sample: {
      data: {
        order: { order_id: 'order_1', order_amount: 2, order_currency: 'INR', order_tags: null },
        payment: {
          ...{ cf_payment_id: 'pay_1', payment_status: 'SUCCESS', payment_amount: 1, payment_currency: 'INR' },
          ...{
            payment_message: '00::Transaction success',
            payment_time: '2025-01-15T12:20:29+05:30',
            payment_group: 'upi',
          },
        },
        customer_details: { customer_id: 'cus_1' },
      },
      event_time: '2025-01-15T12:20:29+05:30',
      type: 'PAYMENT_SUCCESS_WEBHOOK',
    },
  },
  /** checkout.com/docs/developer-resources/webhooks: a payment counts when it is captured; `payment_approved` only authorises it. */
  {
    name: 'checkout',
    signature: { header: 'Cko-Signature' },
    read: {
      id: '/id',
      type: '/type',
      object: '/data/id',
      order: '/data/reference',
      amount: '/data/amount',
      // Every currency that the page names neither as whole nor as thousandths counts in hundredths
      // (checkout.com/docs/payments/accept-payments/format-the-amount-value).
      decimals: { CLF: [2, 4], CLP: [2, 0], UYI: [2, 0], UYW: [2, 4] },
      currency: '/data/currency',
      time: '/created_on',
    },
    types: {
      payment_captured: PAID,
      payment_declined: FAILED,
      payment_capture_declined: FAILED,
      payment_canceled: FAILED,
      payment_expired: FAILED,
    },
    sample: {
      ...{ id: 'evt_1', type: 'payment_captured', version: '1.0.0', created_on: '2025-10-09T08:53:20Z' },
      data: {
        ...{ id: 'pay_1', action_id: 'act_1', reference: 'order_1', amount: 6540, currency: 'USD' },
        ...{ response_code: '10000', response_summary: 'Approved', processed_on: '2025-10-09T08:53:20Z' },
      },
      _links: {},
    },
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
  /**
   * razorpay.com/docs/webhooks/validate-test: the key is the secret of the webhook, not of the API. The id in the header is not
   * signed, so it is made from the body. Redeliveries after a change of the secret are still signed with the old one.
   */
  {
    name: 'razorpay',
    signature: { header: 'X-Razorpay-Signature' },
    unsignedHeaders: ['x-razorpay-event-id'],
    read: {
      type: '/event',
      object: ['payment', 'order', 'refund', 'subscription', 'invoice', 'payment_link', 'settlement', 'payout'].map(
        (name) => `/payload/${name}/entity/id`,
      ),
      order: [
        ...orderIn('/payload/payment/entity/notes', '/payload/order/entity/notes'),
        '/payload/order/entity/receipt',
        '/payload/payment/entity/order_id',
      ],
      amount: '/payload/payment/entity/amount',
      currency: '/payload/payment/entity/currency',
      time: '/created_at',
    },
    types: { 'payment.captured': PAID, 'order.paid': PAID },
    redelivery: { hours: 24, source: 'razorpay.com/docs/webhooks' },
    permits: { ...PAYMENTS, origin: ['/account_id'] },
    sample: {
      ...{ entity: 'event', account_id: 'acc_1', event: 'payment.captured', contains: ['payment'] },
      payload: {
        payment: {
          entity: {
            ...{ id: 'pay_1', entity: 'payment', amount: 100, currency: 'INR', status: 'captured', method: 'card' },
            ...{ order_id: 'order_1', captured: true, notes: { order_id: 'order_1' }, created_at: 1567674599 },
          },
        },
      },
      created_at: 1567674606,
    },
  },
  /** developer.squareup.com/docs/webhooks/step3validate: the URL is signed, exactly as Square's dashboard shows it. */
  {
    name: 'square',
    signature: { header: 'x-square-hmacsha256-signature', encoding: 'base64', signedText: '{url}{body}' },
    read: {
      id: '/event_id',
      type: '/type',
      status: '/data/object/payment/status',
      object: ['/data/object/payment/id', '/data/id', '/merchant_id'],
      order: ['/data/object/payment/reference_id', '/data/object/payment/order_id'],
      amount: '/data/object/payment/amount_money/amount',
      currency: '/data/object/payment/amount_money/currency',
      time: '/created_at',
    },
    types: {
      'payment.updated.COMPLETED': PAID,
      'payment.created.COMPLETED': PAID,
      'payment.updated.FAILED': FAILED,
      'payment.created.FAILED': FAILED,
      'payment.updated.CANCELED': FAILED,
      'payment.created.CANCELED': FAILED,
    },
    redelivery: { hours: 24, source: 'developer.squareup.com/docs/webhooks' },
    permits: { ...PAYMENTS, origin: ['/merchant_id'] },
    sample: {
      ...{ merchant_id: '6SSW7HV8K2ST5', type: 'payment.updated', created_at: '2020-02-06T21:27:34.308Z' },
      event_id: '6a8f5f28-54a1-4eb0-a98a-3111513fd4fc',
      data: {
        ...{ type: 'payment', id: 'pay_1' },
        object: {
          payment: {
            ...{ id: 'pay_1', status: 'PENDING', amount_money: { amount: 100, currency: 'USD' } },
            ...{ reference_id: 'order_1', source_type: 'CARD', version: 3 },
          },
        },
      },
    },
  },
]
