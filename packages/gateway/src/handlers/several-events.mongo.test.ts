import { createHmac, randomBytes } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { lineOf } from '@oncehook/queue/order/turns'
import { EVENTS } from '@oncehook/queue/task'
import { expect, it } from 'vitest'
import type { EventDocument } from '../inbox/event-document.ts'
import { startHandlerServer } from '../testing/handlers/handler-server.ts'
import { startGateway } from '../testing/start-gateway.ts'

const SECRET = randomBytes(20).toString('hex')

it('a handler gets the events of a delivery that it wants, each in its line, and learns which one it is', async () => {
  await using database = await testDatabase(process.env)
  await using server = await startHandlerServer()
  const wanted = { types: ['mandates.*'], where: { '/details/cause': 'bank_account_closed' } }
  const handler = {
    ...{ https: `${server.url}/hook`, secrets: [{ id: '1', value: `whsec_${randomBytes(32).toString('base64')}` }] },
    ...{ events: [wanted], orderBy: '/links/mandate' },
  }
  const providers = { gocardless: { scheme: 'gocardless', secrets: [{ id: 'only', value: SECRET }] } }
  await using gateway = await startGateway({
    ...{ database, providers },
    settings: { HANDLERS: JSON.stringify({ mandates: handler }) },
  })
  const eventOf = (id: string, mandate: string, cause: string) => ({
    ...{ id, resource_type: 'mandates', action: 'cancelled', created_at: '2026-11-26T10:00:00Z' },
    ...{ links: { mandate }, details: { cause } },
  })
  const body = JSON.stringify({
    events: [
      eventOf('EV1', 'MD1', 'bank_account_closed'),
      eventOf('EV2', 'MD2', 'mandate_expired'),
      eventOf('EV3', 'MD3', 'bank_account_closed'),
    ],
  })
  const headers = {
    'content-type': 'application/json',
    'webhook-signature': createHmac('sha256', SECRET).update(body).digest('hex'),
  }
  const { status } = await fetch(`${gateway.url}/api/webhooks/gocardless`, { method: 'POST', headers, body })
  expect(status).toBe(200)
  await expect.poll(() => server.received.length).toBe(2)
  const calls = server.received.map((call) => JSON.parse(call.body))
  expect(new Map(calls.map(({ eventId, pointer }) => [eventId, pointer]))).toEqual(
    new Map([
      ['EV1', '/events/0'],
      ['EV3', '/events/2'],
    ]),
  )
  expect(calls[0].body.events).toHaveLength(3)
  const records = await database.db.collection<EventDocument>(EVENTS).find().sort({ eventId: 1 }).toArray()
  expect(records.map(({ eventId, handler: name, line }) => [eventId, name, line])).toEqual([
    ['EV1', 'mandates', lineOf('MD1')],
    ['EV2', '', undefined],
    ['EV3', 'mandates', lineOf('MD3')],
  ])
})
