import { randomUUID } from 'node:crypto'
import { BODY_CANARY } from '../stack/canaries.ts'
import type { ApiOrder } from '../stack/records.ts'
import { until } from '../until.ts'

/** An answer of the orders API. */
interface OrdersAnswer {
  readonly status: number
  readonly etag: string | null
  /** The order, or the error body. */
  readonly body: unknown
}

/** A client of `/api/orders`. */
export interface OrdersApi {
  /** Makes an order over EUR 20.00, with these properties replaced. Throws unless the answer is 201. */
  create(members?: object): Promise<ApiOrder>
  /** Reads an order. Throws unless the answer is 200. */
  read(id: string): Promise<ApiOrder>
  /** Waits until the order has this status. */
  untilStatus(id: string, status: ApiOrder['status']): Promise<ApiOrder>
  /** Sends any request; `path` is appended to `/api/orders`. */
  send(path: string, init?: RequestInit): Promise<OrdersAnswer>
}

/** Creates the client of one gateway. */
export function createOrdersApi({ url, token }: { readonly url: string; readonly token: string }): OrdersApi {
  const send: OrdersApi['send'] = async (path, init = {}) => {
    const headers = { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) }
    const response = await fetch(`${url}/api/orders${path}`, { ...init, headers })
    const text = await response.text()
    return {
      status: response.status,
      etag: response.headers.get('etag'),
      body: text === '' ? null : (JSON.parse(text) as unknown),
    }
  }
  const read = async (id: string): Promise<ApiOrder> => expectOrder(await send(`/${id}`), 200)
  return {
    send,
    read,
    async create(members = {}) {
      const body = JSON.stringify({ ...SAMPLE, ...members })
      const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() }
      // A busy machine may answer 503: try again later.
      const answer = await until(
        () => send('', { method: 'POST', body, headers }),
        ({ status }) => status !== 503,
      )
      return expectOrder(answer, 201)
    },
    untilStatus: (id, status) =>
      until(
        () => read(id),
        (order) => order.status === status,
      ),
  }
}

const SAMPLE = {
  customerId: `${BODY_CANARY}-customer`,
  currency: 'EUR',
  items: [{ sku: `${BODY_CANARY}-sku`, quantity: 2, unitAmount: 1_000 }],
  email: `${BODY_CANARY}@example.com`,
  note: BODY_CANARY,
}

function expectOrder({ status, body }: OrdersAnswer, wanted: number): ApiOrder {
  if (status === wanted) return body as ApiOrder
  throw new Error(`Answered ${status} where ${wanted} belongs: ${JSON.stringify(body)}`)
}
