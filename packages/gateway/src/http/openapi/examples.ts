import type { JsonObject } from './operation.ts'

const CONTENT = {
  customerId: 'cus_7Q2',
  currency: 'EUR',
  items: [
    { sku: 'book', quantity: 2, unitAmount: 1_250 },
    { sku: 'bookmark', quantity: 1, unitAmount: 0 },
  ],
  email: 'reader@example.com',
  note: 'A present: no invoice, please',
  metadata: { channel: 'shop' },
}

/** Orders as clients send them. */
export const NEW_ORDERS: JsonObject = {
  complete: { summary: 'With all properties', value: CONTENT },
  least: {
    summary: 'With only the required properties',
    value: { customerId: 'cus_7Q2', currency: 'EUR', items: [{ sku: 'book', quantity: 1, unitAmount: 1_250 }] },
  },
}

/** An order as the server returns it. */
export const EXAMPLE_ORDER: JsonObject = {
  id: 'ord_7w3qk5zrm2d4xv6ytn8b9cfhja',
  version: 2,
  status: 'paid',
  ...CONTENT,
  amountDue: 2_500,
  access: 'unlocked',
  payment: { id: 'pay_42', provider: 'acme', status: 'succeeded', at: '2026-11-21T10:00:05.000Z' },
  createdAt: '2026-11-21T10:00:00.000Z',
  updatedAt: '2026-11-21T10:00:05.000Z',
}

/** Patches of an order. */
export const PATCHES: JsonObject = {
  members: {
    summary: 'Changes the note, removes one metadata property and adds another',
    value: { note: 'Leave it with the neighbours', metadata: { channel: null, carrier: 'bike' } },
  },
  nothing: { summary: 'Changes nothing', value: {} },
}

/** Events that a provider delivers. */
export const EVENTS: JsonObject = {
  'payment.succeeded': {
    summary: 'A payment of the order in the metadata',
    value: {
      id: 'evt_1001',
      type: 'payment.succeeded',
      data: {
        object: { id: 'pay_42', amount: 2_500, currency: 'eur', metadata: { orderId: 'order-1001' } },
      },
    },
  },
}
