// Payment providers that are only data. Each comment names the provider's document, and what of its behaviour is not in the data.
import { PAYMENTS } from '../events/permits.ts'
import { orderIn, type Preset } from './preset.ts'

const PAID = 'payment.succeeded'
const FAILED = 'payment.failed'

/** Not paid by somebody else in the family. Null outside the stores (revenuecat.com/docs/integrations/webhooks/event-types-and-fields). */
const OWN = { '/event/is_family_share': { in: [false, null] } } as const

export const PAYMENT_PRESETS: readonly Preset[] = [
  /**
   * developer.authorize.net/api/reference/features/webhooks.html: the text of the signature key is the key (a delivery that somebody
   * has published proves it), and the digits are in upper case. An amount comes without its currency, so it is not read.
   */
  {
    name: 'authorizenet',
    signature: { header: 'X-ANET-Signature', algorithm: 'sha512', prefix: 'sha512=', checkedAs: 'hmac' },
    read: {
      id: '/notificationId',
      type: '/eventType',
      object: '/payload/id',
      order: ['/payload/invoiceNumber', '/payload/merchantReferenceId'],
      time: '/eventDate',
    },
    types: {
      'net.authorize.payment.authcapture.created': { is: PAID, where: { '/payload/responseCode': 1 } },
      'net.authorize.payment.capture.created': { is: PAID, where: { '/payload/responseCode': 1 } },
      'net.authorize.payment.priorAuthCapture.created': { is: PAID, where: { '/payload/responseCode': 1 } },
      'net.authorize.payment.fraud.declined': FAILED,
    },
    permits: { ...PAYMENTS, requireAmount: false },
  },
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
  },
  /**
   * docs.cdp.coinbase.com/commerce/api-arcitecture/webhooks-security and …/webhooks-fields; coinbase-commerce-node: a charge that is
   * pending is not confirmed yet.
   */
  {
    name: 'coinbase-commerce',
    signature: { header: 'X-CC-Webhook-Signature' },
    read: {
      id: ['/event/id', '/id'],
      type: '/event/type',
      object: ['/event/data/id', '/event/data/code'],
      order: orderIn('/event/data/metadata'),
      amount: '/event/data/pricing/local/amount',
      amountIn: 'decimal',
      currency: '/event/data/pricing/local/currency',
      time: '/event/created_at',
    },
    types: { 'charge:confirmed': PAID, 'charge:failed': FAILED },
    redelivery: { hours: 72, source: 'docs.cdp.coinbase.com/commerce: three days' },
  },
  /**
   * docs.moderntreasury.com/platform/reference/webhooks; the npm library modern-treasury: a type is the kind of the object and what
   * happened to it. A payment order moves money out (`credit`) or in (`debit`); only what comes in pays.
   */
  {
    name: 'modern-treasury',
    signature: { header: 'X-Signature' },
    read: {
      type: '/data/object',
      status: '/event',
      object: '/data/id',
      order: orderIn('/data/metadata'),
      amount: '/data/amount',
      currency: '/data/currency',
      time: ['/data/updated_at', '/data/created_at'],
    },
    types: {
      'payment_order.completed': { is: PAID, where: { '/data/direction': 'debit' } },
      'incoming_payment_detail.completed': { is: PAID, where: { '/data/direction': 'credit' } },
      'payment_order.failed': { is: FAILED, where: { '/data/direction': 'debit' } },
      'payment_order.returned': { is: FAILED, where: { '/data/direction': 'debit' } },
    },
    permits: { ...PAYMENTS, origin: ['/data/live_mode'] },
  },
  /**
   * paystack.com/docs/payments/webhooks: the key is the secret key of the API. There is no event id, so it is made from the body.
   * West African francs count in hundredths (Paystack's plugin for WooCommerce, which multiplies every amount by 100).
   */
  {
    name: 'paystack',
    signature: { header: 'x-paystack-signature', algorithm: 'sha512' },
    read: {
      type: '/event',
      object: ['/data/id', '/data/reference'],
      order: [...orderIn('/data/metadata'), '/data/reference'],
      amount: '/data/amount',
      decimals: { XOF: [2, 0] },
      currency: '/data/currency',
      time: ['/data/paid_at', '/data/created_at'],
    },
    types: { 'charge.success': { is: PAID, where: { '/data/status': 'success' } } },
    redelivery: { hours: 72, source: 'paystack.com/docs/payments/webhooks' },
    permits: { ...PAYMENTS, origin: ['/data/domain'] },
    sent: { failed: 'invoice.payment_failed' },
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
  },
  /**
   * revenuecat.com/docs/integrations/webhooks: signed if the integration has a signing secret; its authorization header is a
   * password and proves nothing of the body. Every attempt is signed anew. A trial costs nothing, so it pays nothing, and so does a
   * purchase of the sandbox, which one webhook can report too.
   */
  {
    name: 'revenuecat',
    signature: { header: 'X-RevenueCat-Webhook-Signature', separator: ',', timestampPrefix: 't=', prefix: 'v1=' },
    read: {
      id: '/event/id',
      type: '/event/type',
      object: ['/event/transaction_id', '/event/app_user_id'],
      order: '/event/subscriber_attributes/order_id/value',
      amount: '/event/price_in_purchased_currency',
      amountIn: 'decimal',
      currency: '/event/currency',
      time: '/event/event_timestamp_ms',
    },
    types: {
      INITIAL_PURCHASE: { is: PAID, where: { ...OWN, '/event/period_type': { in: ['NORMAL', 'INTRO', 'PREPAID'] } } },
      RENEWAL: { is: PAID, where: { ...OWN, '/event/period_type': { in: ['NORMAL', 'INTRO', 'PREPAID'] } } },
      NON_RENEWING_PURCHASE: { is: PAID, where: OWN },
      BILLING_ISSUE: FAILED,
    },
    redelivery: { hours: 3, source: 'revenuecat.com/docs/integrations/webhooks: 5 retries' },
    permits: {
      ...PAYMENTS,
      expect: () => ({ '/event/environment': 'PRODUCTION' }),
      origin: ['/event/app_id'],
    },
  },
  /**
   * developer.revolut.com/docs/guides/merchant/monitor-and-observe/webhooks/verify-the-payload-signature: the time is in
   * milliseconds. During a rotation there are several signatures. Events of an order name no amount.
   */
  {
    name: 'revolut',
    signature: {
      ...{ header: 'Revolut-Signature', separator: ',', prefix: 'v1=', signedText: 'v1.{timestamp}.{body}' },
      ...{ timestampHeader: 'Revolut-Request-Timestamp', timestampIn: 'milliseconds', checkedAs: 'hmac' },
    },
    read: { type: '/event', object: ['/order_id', '/data/id'], order: '/merchant_order_ext_ref', time: '/timestamp' },
    types: {
      ORDER_COMPLETED: PAID,
      ORDER_PAYMENT_DECLINED: FAILED,
      ORDER_PAYMENT_FAILED: FAILED,
      ORDER_FAILED: FAILED,
      ORDER_CANCELLED: FAILED,
    },
    redelivery: { hours: 1, source: 'developer.revolut.com/docs/merchant: 3 retries' },
    permits: { ...PAYMENTS, requireAmount: false },
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
  },
]
