import { createHandler, type HandlerEvent } from '@oncehook/handler'
import { mongo } from '@oncehook/handler/mongo'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { MatchersV3 } from '@pact-foundation/pact'
import { Webhook } from 'standardwebhooks'
import { afterAll, describe, expect, it } from 'vitest'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'
import { compareAtTheEnd } from './consumer-contract.ts'
import { openMessageContract, type ReceivedMessage } from './message-contract.ts'

const { like, regex, string } = MatchersV3
const SECRET = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const contract = await openMessageContract('https-handler', 'gateway')
compareAtTheEnd(contract)
const database = stack.use(await testDatabase(process.env))
const address = new URL(database.uri.reveal())
address.pathname = database.name
await setUpMongo(address.href)

/** What `@oncehook/handler` makes of a message that was signed now. */
async function receive({ content, headers }: ReceivedMessage): Promise<HandlerEvent | undefined> {
  const received: HandlerEvent[] = []
  const handler = createHandler({
    ...{ name: 'billing', secrets: SECRET, store: mongo(database.client, { database: database.name }) },
    on: { '*': (event) => void received.push(event) },
  })
  const body = JSON.stringify(content)
  const [id, at] = [headers['webhook-id'] ?? '', new Date()]
  const signed = {
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(SECRET).sign(id, at, body),
  }
  const request = { method: 'POST', headers: { ...headers, ...signed }, body }
  const answer = await handler.fetch(new Request('http://127.0.0.1/webhooks', request))
  await handler.close()
  expect(answer.status).toBe(200)
  return received[0]
}

const SIGNATURE = 'v1,[A-Za-z0-9+/]{43}='
const EXAMPLE = `v1,${'A'.repeat(43)}=`

function headersOf(key: string, { attempt = '1', signatures = 1 } = {}) {
  const repeat = (text: string) => Array.from({ length: signatures }, () => text).join(' ')
  return {
    'content-type': 'application/json',
    // It is signed before the dots, so it has none.
    'webhook-id': regex('^[\\x21-\\x2d\\x2f-\\x7e]{1,600}$', key),
    'webhook-timestamp': regex('^\\d{10}$', '1764151200'),
    'webhook-signature': regex(`^${repeat(SIGNATURE)}$`, repeat(EXAMPLE)),
    'oncehook-attempt': attempt,
  }
}

/** What every task says besides its body. */
function headOf(key: string) {
  return {
    ...{ key: string(key), provider: string('stripe'), eventId: string('evt_1'), objectId: string('sub_1') },
    type: string('customer.subscription.deleted'),
    receivedAt: regex('^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$', '2026-11-26T10:00:01.000Z'),
  }
}

const OCCURRED = { occurredAt: regex('^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?Z$', '2026-11-26T10:00:00Z') }
const BODY = { body: like({ id: 'evt_1', data: { object: { id: 'sub_1' } } }) }

describe('a handler as a receiver of tasks', () => {
  it.each([
    { does: 'a task', key: 'stripe:new:billing' },
    { does: 'a task for the second time', key: 'stripe:second:billing', attempt: '2' },
    { does: 'a task while the secrets change', key: 'stripe:rotation:billing', signatures: 2 },
  ])('acts on $does', async ({ does, key, ...more }) => {
    const content = { ...headOf(key), ...OCCURRED, ...BODY }
    await contract.expectMessage({ does, content, headers: headersOf(key, more) }, async (message) => {
      expect(await receive(message)).toMatchObject({
        ...{ key, type: 'customer.subscription.deleted', objectId: 'sub_1' },
        ...{ occurredAt: new Date('2026-11-26T10:00:00Z'), data: { object: { id: 'sub_1' } } },
      })
    })
  })

  it('acts on one event of a delivery with several', async () => {
    const key = 'stripe:several:billing'
    const content = {
      ...headOf(key),
      ...OCCURRED,
      pointer: regex('^(/[^/~]+)+$', '/events/0'),
      body: like({ events: [{ id: 'EV1' }] }),
    }
    const does = 'a task of a delivery with several events'
    await contract.expectMessage({ does, content, headers: headersOf(key) }, async (message) => {
      expect((await receive(message))?.data).toEqual({ id: 'EV1' })
    })
  })

  it('acts on a task whose delivery is not JSON', async () => {
    const key = 'stripe:form:billing'
    const content = { ...headOf(key), ...OCCURRED, raw: regex('^[A-Za-z0-9+/]+={0,2}$', 'dHlwZT1wYWlk') }
    const does = 'a task whose delivery is not JSON'
    await contract.expectMessage({ does, content, headers: headersOf(key) }, async (message) => {
      expect((await receive(message))?.body).toMatchObject({ raw: 'dHlwZT1wYWlk' })
    })
  })
})
