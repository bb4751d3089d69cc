import { z } from 'zod'
import { CommandFailure } from '../exit-code.ts'
import type { GatewayAddress } from '../options/gateway-address.ts'
import { toPrintable } from '../output.ts'

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

/** The properties with which a client creates an order. */
export interface OrderDraft {
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

/** A client of `/api/orders` for a sender. A call takes at most 10 s, and throws OrdersApiFailure on any error. */
export interface OrdersClient {
  create(draft: OrderDraft): Promise<Order>
  /** Returns the order with this id, and creates it if it does not exist. */
  ensure(id: string, draft: OrderDraft): Promise<{ order: Order; created: boolean }>
  read(id: string): Promise<Order>
}

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: OrderDraft
}

const timeoutMs = 10_000

/** A client of one gateway's orders API. */
export function createOrdersClient(deps: { fetch: typeof fetch; gateway: GatewayAddress }): OrdersClient {
  const read = async (id: string): Promise<Order> => callApi(deps, { method: 'GET', path: pathOf(id) })
  return {
    create: async (draft) => callApi(deps, { method: 'POST', path: '/api/orders', body: draft }),
    read,
    async ensure(id, draft) {
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
