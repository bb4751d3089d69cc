// The orders of `oncehook send`: created or read before the deliveries, and watched afterwards until they show the effect.

import { z } from 'zod'
import { type CliContext, CommandFailure } from '../command.ts'
import type { GatewayAddress } from '../options/gateway-address.ts'
import { toPrintable } from '../output.ts'
import type { SendOptions } from './send-options.ts'

const orderSchema = z.object({
  id: z.string(),
  version: z.int(),
  status: z.string(),
  access: z.string(),
  amountDue: z.int(),
  currency: z.string().regex(/^[A-Z]{3}$/),
  payment: z.object({ id: z.string(), provider: z.string() }).nullable(),
  createdAt: z.iso.datetime(),
})

/** The properties of an order that a sender needs. */
export type Order = z.infer<typeof orderSchema>

interface OrderDraft {
  readonly customerId: string
  readonly currency: string
  readonly items: readonly { readonly sku: string; readonly quantity: number; readonly unitAmount: number }[]
}

/** The orders API refused a call or did not answer. `status` is null if it did not answer. */
export class OrdersApiFailure extends CommandFailure {
  override readonly name = 'OrdersApiFailure'
  readonly status: number | null

  constructor(message: string, options: { status: number | null; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.status = options.status
  }
}

/** An order before any delivery, and whether this command created it. */
export interface PreparedOrder {
  readonly order: Order
  readonly created: boolean
}

type OrdersClient = ReturnType<typeof createOrdersClient>

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: OrderDraft
}

const timeoutMs = 10_000

/** A client of `/api/orders` for a sender. A call takes at most 10 s, and throws OrdersApiFailure on any error. */
export function createOrdersClient(deps: { fetch: typeof fetch; gateway: GatewayAddress }) {
  const read = async (id: string): Promise<Order> => callApi(deps, { method: 'GET', path: pathOf(id) })
  return {
    create: async (draft: OrderDraft): Promise<Order> =>
      callApi(deps, { method: 'POST', path: '/api/orders', body: draft }),
    read,
    /** Returns the order with this id, and creates it if it does not exist. */
    async ensure(id: string, draft: OrderDraft): Promise<PreparedOrder> {
      const put: Call = { method: 'PUT', path: pathOf(id), headers: { 'if-none-match': '*' }, body: draft }
      try {
        return { order: await callApi(deps, put), created: true }
      } catch (error) {
        // RFC 9110, 13.1.2: 412 means that the order exists.
        if (error instanceof OrdersApiFailure && error.status === 412) return { order: await read(id), created: false }
        throw error
      }
    },
  }
}

function pathOf(id: string): string {
  return `/api/orders/${encodeURIComponent(id)}`
}

async function callApi(
  { fetch, gateway }: { fetch: typeof globalThis.fetch; gateway: GatewayAddress },
  call: Call,
): Promise<Order> {
  const name = `${call.method} ${call.path}`
  let response: Response
  let text: string
  try {
    response = await fetch(`${gateway.url}${call.path}`, {
      method: call.method,
      headers: {
        authorization: `Bearer ${gateway.token}`,
        ...(call.body ? { 'content-type': 'application/json' } : {}),
        ...call.headers,
      },
      ...(call.body ? { body: JSON.stringify(call.body) } : {}),
      signal: AbortSignal.timeout(timeoutMs),
    })
    text = await response.text()
  } catch (error) {
    throw new OrdersApiFailure(`${name}: no answer from ${gateway.url}; is it running?`, { status: null, cause: error })
  }
  if (!response.ok) {
    throw new OrdersApiFailure(`${name} returned ${response.status} ${toPrintable(text)}`.trimEnd(), response)
  }
  return readOrder(text, name)
}

function readOrder(text: string, name: string): Order {
  try {
    return orderSchema.parse(JSON.parse(text))
  } catch (error) {
    throw new CommandFailure(`${name}: the response is not an order`, { cause: error })
  }
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

function writeDraft({ amount = 1999 }: SendOptions): OrderDraft {
  return { customerId: 'cus_oncehook', currency: 'EUR', items: [{ sku: 'sample', quantity: 1, unitAmount: amount }] }
}

/** Who reads orders, and when. */
export type WatchDeps = Pick<CliContext, 'now' | 'sleep'> & { readonly orders: OrdersClient }

const firstPauseMs = 10
const longestPauseMs = 250

/**
 * Reads an order until it has the expected state or the deadline has passed, and returns the last state. Temporary failures of
 * the API are retried. The deadline is in milliseconds since 1970.
 * @throws OrdersApiFailure if the API refuses, or still fails at the deadline
 */
export async function watchOrder(
  deps: WatchDeps,
  id: string,
  { until, deadline }: { readonly until: (order: Order) => boolean; readonly deadline: number },
): Promise<Order> {
  let pauseMs = firstPauseMs
  for (;;) {
    const isLast = deps.now() >= deadline
    const seen = await deps.orders.read(id).catch((error: unknown) => {
      if (!isLast && isPassing(error)) return null
      throw error
    })
    if (seen !== null && (until(seen) || isLast)) return seen
    await deps.sleep(Math.max(0, Math.min(pauseMs, deadline - deps.now())))
    pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof OrdersApiFailure && (error.status === null || error.status === 429 || error.status >= 500)
}

/** The results of `run` for each item, in the order of the list, with at most `limit` concurrent calls. */
export async function mapConcurrently<T, R>(
  list: readonly T[],
  limit: number,
  run: (member: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const queue = list.entries()
  const work = async (): Promise<void> => {
    for (const [index, member] of queue) results[index] = await run(member)
  }
  await Promise.all(Array.from({ length: Math.min(limit, list.length) }, work))
  return results
}
