import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile } from '@oncehook/kernel/testing/test-encryption'
import { createPaymentProvider } from '@oncehook/simulator/payment-provider'
import { afterAll, describe, expect, it } from 'vitest'
import { demandPart } from './demand-part.ts'
import { demandToken, readToken, toSentCall } from './hand-made-token.ts'
import { CONTRACTS, readPact } from './pact-files.ts'
import type { SentMessage } from './verify-messages.ts'
import { eventOf, SENDERS, type WebhookSender } from './webhook-senders.ts'

const WHO = 'The consumer gateway breaks its promise to fulfilment (gateway-fulfilment.json)'
const [sender] = SENDERS
if (sender === undefined) throw new Error('There are no senders')

interface Applied {
  readonly events: readonly Readonly<Record<string, unknown>>[]
}

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const applied: Applied[] = []

/** Everything that the gateway sent, by its path. */
const requests: (SentMessage & { readonly method?: string | undefined; readonly path: string })[] = []

const { interactions } = await readPact(`${CONTRACTS}/gateway-fulfilment.json`)
/** An answer of each procedure that succeeds, of its contract. */
const examples = new Map<string, object>([
  ...interactions.flatMap(({ request, response }): [string, object][] => {
    const { status, body } = response as { status: number; body: { result: { data: object } } }
    return status === 200 ? [[request.path, body.result.data]] : []
  }),
  ['/trpc/encryption.status', { firstKey: 'first', keys: ['first'], missing: [], leaving: [] }],
])

/** Fulfilment as its contract has it: it knows the orders that end so, at version 7. */
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '', 'http://localhost')
  const body = await text(request)
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
  requests.push({ method: request.method, path: request.url ?? '', body, headers: new Headers(headers) })
  const answer = (data: object): void =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ result: { data } }))
  const example = examples.get(pathname)
  if (pathname !== '/trpc/payments.applyEvents' && example !== undefined) return answer(example)
  const call: Applied = JSON.parse(body)
  applied.push(call)
  answer({ results: call.events.map(() => ({ outcome: 'applied', version: 8 })) })
}).listen(0, '127.0.0.1')
await once(server, 'listening')
stack.defer(() => void server.close())
stack.defer(() => server.closeAllConnections())

const fulfilmentUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const providers = { acme: { ...sender.provider, secrets: [{ id: 's1', value: sender.secret }] } }

const database = stack.use(await testDatabase(process.env))
const keys = newServiceKeyPair()
const OPERATOR = 'the-token-of-an-operator-in-a-test-of-contracts'
const settings = {
  ...{ RETRY_BASE_MS: '20', RETRY_CAP_MS: '100', OPERATOR_TOKENS: JSON.stringify({ alice: OPERATOR }) },
  ENCRYPTION_KEYS_FILE: stack.use(await createTestKeysFile('first')).path,
}
const gateway = stack.use(await startGateway({ database, keys, fulfilmentUrl, providers, settings }))

/** Delivers an event as a provider does, and returns what the gateway then sends to fulfilment. */
async function handOn({ signer, secret, settings }: WebhookSender, id: string, type: string) {
  const deps = { fetch, now: Date.now, sleep: async () => undefined }
  const provider = createPaymentProvider(deps, { url: `${gateway.url}/api/webhooks/acme`, signer, secret, settings })
  expect(await provider.deliver(provider.write(eventOf(id, type)))).toMatchObject({ status: 200 })
  const found = () => applied.flatMap(({ events }) => events).filter(({ eventId }) => eventId === id)
  await expect.poll(found).toHaveLength(1)
  return found()[0] ?? {}
}

describe('the gateway sends to fulfilment', () => {
  it.each([
    { eventId: 'evt_known', type: 'payment.succeeded' },
    { eventId: 'evt_other_known', type: 'payment.failed' },
    { eventId: 'evt_strange', type: 'payment.succeeded' },
  ])('$type of $eventId with exactly the members of its contract', async ({ eventId, type }) => {
    const { occurredAt, ifMatch, ...sent } = await handOn(sender, eventId, type)
    const payment = { paymentId: `pay_${eventId}`, orderId: `ord_${eventId}`, amount: 1999, currency: 'EUR' }
    const promised = { provider: 'acme', eventId, type, ...payment }
    demandPart(WHO, sent, promised)
    expect(Object.keys(sent).toSorted(), WHO).toEqual(Object.keys(promised).toSorted())
    expect(occurredAt, WHO).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
    expect(ifMatch, WHO).toBe('*')
  })

  it('the members that its contract shows', async () => {
    const shown = interactions.find(({ description }) => description === 'hands on a payment of an order')
    const [example = {}] = (shown as { request: { body?: Applied } } | undefined)?.request.body?.events ?? []
    const sent = await handOn(sender, 'evt_shown_known', 'payment.succeeded')
    expect(Object.keys(sent).toSorted(), WHO).toEqual(Object.keys(example).toSorted())
  })
})

// A Pact has only a pattern of a token.
describe('the gateway, as it is started, sends', () => {
  it('every call of fulfilment with a token that names the call and no principal', async () => {
    for (const id of ['evt_token_known', 'evt_next_known']) await handOn(sender, id, 'payment.succeeded')
    const calls = requests.filter(({ path }) => path.startsWith('/trpc/payments.'))
    expect(calls).not.toEqual([])
    for (const call of calls) demandToken(WHO, sentCallOf(call), keys)
    demandOwnIds(calls)
  })
})

/** Fulfilment answers no token twice. */
function demandOwnIds(calls: typeof requests): void {
  const ids = calls.map(({ headers }) => readToken(headers.get('authorization')?.slice(7) ?? '').claims.jti)
  expect(new Set(ids).size, `${WHO}: the token of each call has a jti of its own`).toBe(calls.length)
}

/** A call as a line: its method, its procedure, the members of its input, and in whose name it is made. The token is checked. */
function lineOf(call: (typeof requests)[number]): string {
  const sent = sentCallOf(call)
  const { sub } = readToken(sent.authorization.replace(/^Bearer /, '')).claims
  demandToken(WHO, sent, { ...keys, ...(sub === undefined ? {} : { subject: String(sub) }) })
  const members = Object.keys(JSON.parse(sent.input)).toSorted().join(' ')
  return `${call.method} ${sent.procedure}(${members})${sub === undefined ? '' : ` for ${sub}`}`
}

// The contract has the calls of the client. These are those of the operator API, with what it adds.
describe('the gateway, as it is started, asks fulfilment for an operator', () => {
  const order = examples.get('/trpc/orders.get') as { readonly id: string; readonly version: number }
  const [id, reason] = [order.id, 'a reason']
  const rotates = 'POST encryption.rotate(after collection dryRun key rotation)'
  const all = ['GET encryption.status()', rotates, rotates, 'POST encryption.retire(key rotation)']

  it.each([
    { asked: 'orders.get', input: { id }, calls: ['GET orders.get(id)'] },
    {
      ...{ asked: 'orders.correct', input: { id, version: order.version, currency: 'USD', reason } },
      calls: ['GET orders.get(id)', 'POST orders.patch(id ifMatch patch) for operator:alice'],
    },
    // Neither a customer nor a search for one is in a URL.
    {
      ...{ asked: 'erase', input: { customerId: 'a@example.com', reason } },
      calls: ['POST erasures.find(customerId)', 'POST erasures.erase(customerId orderIds)'],
    },
    {
      ...{ asked: 'erase', input: { orderId: 'ord_1', reason } },
      calls: ['POST erasures.find(orderIds)', 'POST erasures.erase(orderIds)'],
    },
    { asked: 'receipts.list', input: { state: 'parked' }, calls: ['GET receipts.list(limit state)'] },
    { asked: 'receipts.release', input: { key: 'rcp_1', reason }, calls: ['POST receipts.release(key)'] },
    { asked: 'receipts.releaseAll', input: { reason }, calls: Array(2).fill('POST receipts.releaseAll(after dryRun)') },
    { asked: 'encryption.status', input: {}, calls: ['GET encryption.status()'] },
    { asked: 'encryption.rotate', input: { reason }, calls: all },
    {
      ...{ asked: 'encryption.rotate', input: { reason, dryRun: true, position: 'idempotency_keys:' } },
      calls: ['POST encryption.rotate(after collection dryRun key)'],
    },
  ])('$asked: $calls', async ({ asked, input, calls }) => {
    const lines: string[] = []
    const first = requests.length
    for (let next: unknown = ''; next !== undefined && next !== null; ) {
      const before = requests.length
      const headers = { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' }
      const body = JSON.stringify(input)
      const answer = await fetch(`${gateway.adminUrl}/operator/${asked}`, { method: 'POST', headers, body })
      const { result } = (await answer.json()) as { result?: { data: { next?: unknown } } }
      next = result?.data.next
      for (const call of requests.slice(before).filter(({ path }) => !path.startsWith('/trpc/payments.'))) {
        lines.push(lineOf(call))
        const requestId = call.headers.get('x-request-id')
        expect(requestId, `${WHO}: the id of the request`).toBe(answer.headers.get('x-request-id'))
      }
    }
    expect(lines, WHO).toEqual(calls)
    demandOwnIds(requests.slice(first))
  })
})

function sentCallOf({ path, body, headers }: (typeof requests)[number]) {
  return toSentCall(`${fulfilmentUrl}${path}`, { headers, ...(body === '' ? {} : { body }) })
}
