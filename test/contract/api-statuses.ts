/** What the statuses of an object of an API mean, by the document of the provider. */
export interface StatusRows {
  readonly object: string
  /** What is before the status in the name of a type. */
  readonly kind: string
  readonly document: string
  readonly paid: readonly string[]
  readonly failed: readonly string[]
  /** These mean neither. */
  readonly others: readonly string[]
}

/** The statuses that the APIs answer, by the scheme that asks. */
export const STATUSES = {
  'mollie-classic': [
    {
      ...{ object: 'a payment', kind: 'payment', document: 'docs.mollie.com/docs/status-change' },
      ...{ paid: ['paid'], failed: ['canceled', 'expired', 'failed'], others: ['open', 'pending', 'authorized'] },
    },
    {
      ...{ object: 'an order', kind: 'order', document: 'docs.mollie.com/reference/get-order' },
      ...{
        paid: ['paid', 'completed'],
        failed: ['canceled', 'expired'],
        others: ['created', 'authorized', 'shipping'],
      },
    },
  ],
  mercadopago: [
    {
      ...{ object: 'a payment', kind: 'payment', document: 'mercadopago.com/developers, Get payment' },
      ...{ paid: ['approved'], failed: ['rejected', 'cancelled'], others: ['authorized', 'refunded', 'charged_back'] },
    },
    {
      ...{ object: 'an order', kind: 'order', document: 'mercadopago.com/developers, Order status' },
      ...{ paid: ['processed'], failed: ['canceled', 'expired', 'failed'], others: ['action_required', 'refunded'] },
    },
  ],
  flutterwave: [
    {
      ...{
        object: 'a transaction',
        kind: 'charge.completed',
        document: 'developer.flutterwave.com, Verify transactions',
      },
      ...{ paid: ['successful'], failed: ['failed'], others: ['pending'] },
    },
  ],
} as const satisfies Record<string, readonly StatusRows[]>
