import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createPaymentProvider } from '@oncehook/simulator/payment-provider'
import { afterAll, describe, expect, it } from 'vitest'
import { demandPart } from './demand-part.ts'
import { CONTRACTS, readPact } from './pact-files.ts'
import { eventOf, SENDERS, type WebhookSender } from './webhook-senders.ts'

const WHO = 'The consumer gateway breaks its promise to fulfilment (gateway-fulfilment.json)'
const [sender] = SENDERS
if (sender === undefined) throw new Error('There are no senders')

interface Applied {
  readonly events: readonly Readonly<Record<string, unknown>>[]
}

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const asked: string[] = []
const applied: Applied[] = []
/** The events whose orders change while fulfilment applies them. */
const overtaken = new Set<unknown>()

/** Fulfilment as its contract has it: it knows the orders whose events are even, at version 7. */
const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
  const answer = (data: object): void =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ result: { data } }))
  if (pathname === '/trpc/payments.versions') {
    const input = searchParams.get('input') ?? ''
    asked.push(input)
    const { orderIds } = JSON.parse(input) as { orderIds: string[] }
    const versions = Object.fromEntries(orderIds.map((id) => [id, id.endsWith('known') ? 7 : null]))
    return answer(versions)
  }
  const call = (await json(request)) as Applied
  if (call.events.some(({ eventId }) => overtaken.delete(eventId))) {
    const result = { refused: 'precondition_failed', retry: 'now' }
    return answer({ results: call.events.map(() => result) })
  }
  applied.push(call)
  answer({ results: call.events.map(() => ({ outcome: 'applied', version: 8 })) })
}).listen(0, '127.0.0.1')
await once(server, 'listening')
stack.defer(() => void server.close())
stack.defer(() => server.closeAllConnections())

const fulfilmentUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const providers = { acme: { ...sender.provider, secrets: [{ id: 's1', value: sender.secret }] } }

const database = stack.use(await testDatabase(process.env))
const settings = { RETRY_BASE_MS: '20', RETRY_CAP_MS: '100' }
const gateway = stack.use(await startGateway({ database, fulfilmentUrl, providers, settings }))

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

  it('any version as If-Match, and the current one after the order has changed meanwhile', async () => {
    overtaken.add('evt_asked_known')
    const sent = await handOn(sender, 'evt_asked_known', 'payment.succeeded')
    const inputs = asked.map((input) => JSON.parse(input))
    expect(inputs, WHO).toEqual([{ orderIds: ['ord_evt_asked_known'] }])
    expect(sent.ifMatch, WHO).toBe('"7"')
  })

  it('the members that its contract shows', async () => {
    const { interactions } = await readPact(`${CONTRACTS}/gateway-fulfilment.json`)
    const shown = interactions.find(({ description }) => description === 'hands on a payment of an order')
    const [example = {}] = (shown as { request: { body?: Applied } } | undefined)?.request.body?.events ?? []
    const sent = await handOn(sender, 'evt_shown_known', 'payment.succeeded')
    expect(Object.keys(sent).toSorted(), WHO).toEqual(Object.keys(example).toSorted())
  })
})
