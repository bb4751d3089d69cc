import { CommandFailure } from '../exit-code.ts'
import { mapConcurrently } from './map-concurrently.ts'
import { type Order, type OrderDraft, OrdersApiFailure, type OrdersClient } from './orders-client.ts'
import type { SendOptions } from './send-options.ts'

/** An order to pay, and whether this command created it. */
export interface PreparedOrder {
  readonly order: Order
  readonly created: boolean
}

const parallelCalls = 8

/**
 * The orders of the options, before any delivery.
 * @throws CommandFailure if the API refuses a call, or the given order does not exist
 */
export async function prepareOrders(orders: OrdersClient, options: SendOptions): Promise<PreparedOrder[]> {
  if (options.order !== undefined) return [{ order: await readExisting(orders, options.order), created: false }]
  const draft = writeDraft(options)
  if (options.ensureOrder !== undefined) return [await orders.ensure(options.ensureOrder, draft)]
  const drafts = Array.from({ length: options.count }, () => draft)
  return mapConcurrently(drafts, parallelCalls, async (each) => ({ order: await orders.create(each), created: true }))
}

async function readExisting(orders: OrdersClient, id: string): Promise<Order> {
  try {
    return await orders.read(id)
  } catch (error) {
    if (!(error instanceof OrdersApiFailure) || error.status !== 404) throw error
    throw new CommandFailure(`There is no order ${id}: omit --order to create one, or give --ensure-order`, {
      cause: error,
    })
  }
}

function writeDraft({ amount = 1999, currency = 'EUR' }: SendOptions): OrderDraft {
  return { customerId: 'cus_oncehook', currency, items: [{ sku: 'sample', quantity: 1, unitAmount: amount }] }
}
