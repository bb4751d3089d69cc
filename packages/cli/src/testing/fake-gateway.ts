import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json, text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** The secret that the fake gateway accepts. */
export const fakeSecret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
export const fakeToken = 'an-api-token-of-the-fake-gateway-0001'

/** An order in the fake gateway. */
export interface FakeOrder {
  id: string
  version: number
  status: string
  access: string
  amountDue: number
  currency: string
  payment: { id: string; provider: string; status: string; at: string } | null
  createdAt: string
  updatedAt: string
}

/** The behaviour of the fake. It can change while the fake runs. */
export interface FakeBehaviour {
  /** The status of every webhook response. Without it, deliveries are verified. */
  answer?: number
  /** Whether events change orders; they do unless this is false. */
  applies?: boolean
}

/** A fake gateway: orders in a Map, and `/api/webhooks/acme` verified by the official library. */
export async function startFakeGateway(behaviour: FakeBehaviour = {}) {
  const orders = new Map<string, FakeOrder>()
  const deliveries: { headers: IncomingMessage['headers']; body: string }[] = []
  const seen = new Set<string>()

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    deliveries.push({ headers: request.headers, body })
    if (behaviour.answer) return send(response, behaviour.answer, { error: 'No', code: 'no', requestId: 'req_1' })
    if (request.url !== '/api/webhooks/acme') return send(response, 404, { code: 'provider_unknown' })
    try {
      new Webhook(fakeSecret).verify(body, request.headers as Record<string, string>, { jsonParse: false })
    } catch {
      return send(response, 401, {
        error: 'The signature does not match',
        code: 'signature_invalid',
        requestId: 'req_1',
      })
    }
    send(response, 200, { received: true })
    if (behaviour.applies !== false) setImmediate(apply, JSON.parse(body))
  }

  function apply(event: FakeEvent): void {
    const { object } = event.data
    const order = orders.get(object.orderId)
    if (!order || seen.has(event.id) || order.status === 'paid') return
    if (object.amount !== order.amountDue || object.currency !== order.currency) return
    seen.add(event.id)
    const payment = { id: object.id, provider: 'acme', at: order.createdAt }
    const version = order.version + 1
    if (event.type === 'payment.succeeded') {
      Object.assign(order, {
        version,
        status: 'paid',
        access: 'unlocked',
        payment: { ...payment, status: 'succeeded' },
      })
    }
    if (event.type === 'payment.failed') {
      Object.assign(order, { version, status: 'payment_failed', payment: { ...payment, status: 'failed' } })
    }
  }

  async function answerOrders(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.authorization !== `Bearer ${fakeToken}`) return send(response, 401, { code: 'unauthenticated' })
    const id = decodeURIComponent(request.url?.slice('/api/orders/'.length) ?? '')
    return request.method === 'GET' ? read(id, response) : make(id, request, response)
  }

  function read(id: string, response: ServerResponse): void {
    const order = orders.get(id)
    if (order) send(response, 200, order)
    else send(response, 404, { code: 'not_found' })
  }

  async function make(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (orders.has(id)) return send(response, 412, { code: 'precondition_failed' })
    const order = makeOrder(id || `ord_${orders.size + 1}`, (await json(request)) as FakeDraft)
    orders.set(order.id, order)
    send(response, 201, order)
  }

  const server = createServer((request, response) => {
    const answer = request.url?.startsWith('/api/orders') ? answerOrders : receive
    void answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    orders,
    deliveries,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface FakeEvent {
  id: string
  type: string
  data: { object: { id: string; orderId: string; amount: number; currency: string } }
}

interface FakeDraft {
  currency: string
  items: { quantity: number; unitAmount: number }[]
}

function makeOrder(id: string, { currency, items }: FakeDraft): FakeOrder {
  const amountDue = items.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, 0)
  const at = '2026-01-01T00:00:00.000Z'
  return {
    id,
    version: 1,
    status: 'pending',
    access: 'locked',
    amountDue,
    currency,
    payment: null,
    createdAt: at,
    updatedAt: at,
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
