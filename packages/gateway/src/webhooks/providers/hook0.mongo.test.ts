import { createHmac } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { afterAll, describe, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { reverifyEvent } from '../../operator/events/reverify-event.ts'
import { PROVIDER_SOURCES } from '../../testing/provider-sources.ts'
import { startGateway } from '../../testing/start-gateway.ts'
import { readProviders } from './providers.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const value = 'a_secret_of_a_subscription'
const providers = { hook0: { scheme: 'hook0', version: 'v1', effects: [], secrets: [{ id: 'only', value }] } }
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(await startGateway({ database, providers }))
const events = database.db.collection<EventDocument>(EVENTS)
const configured = readProviders(JSON.stringify(providers), PROVIDER_SOURCES)

/** Delivers an event whose signature covers these headers, and answers its record. */
async function deliver(id: string, covered: Readonly<Record<string, string>>): Promise<EventDocument | null> {
  const body = JSON.stringify({ id, type: 'invoice.sent', data: { object: { id: 'inv_1' } } })
  const time = String(Math.floor(Date.now() / 1_000))
  const names = Object.keys(covered).join(' ')
  const mac = createHmac('sha256', value).update(`${time}.${names}.${Object.values(covered).join('.')}.${body}`)
  const signature = { 'x-hook0-signature': `t=${time},h=${names},v1=${mac.digest('hex')}` }
  const headers = { ...covered, ...signature, 'x-other': 'not covered' }
  const response = await fetch(`${gateway.url}/api/webhooks/hook0`, { method: 'POST', headers, body })
  expect(response.status).toBe(200)
  return await events.findOne({ eventId: id })
}

describe('a delivery of Hook0 whose signature covers its own headers', () => {
  it('is accepted if it covers credentials, but these are not stored', async () => {
    const secretive = { authorization: 'Bearer canary', 'x-api-key': 'canary', 'x-auth-token': 'canary' }
    const record = await deliver('evt_2', { 'content-type': 'application/json', ...secretive })
    expect(JSON.stringify(record?.headers)).not.toContain('canary')
    expect(record && (await reverifyEvent(record, { providers: () => configured, fetch }))).toMatchObject({
      failure: 'header_missing',
    })
  })
})

describe('an id between values with full stops', () => {
  const id = '0d4c5c1c-9d1a-4c31-8d5f-0123456789ab'
  const body = '{"data":{"id":"pay_1"}}'
  const provider = configured.get('hook0')

  function judge(type: string, eventId: string, tenant: string) {
    const names = 'x-event-type x-event-id x-tenant'
    const text = `1760000000.${names}.payment.succeeded.${id}.1.2.${body}`
    const signature = `t=1760000000,h=${names},v1=${createHmac('sha256', value).update(text).digest('hex')}`
    const headers = { 'x-hook0-signature': signature, 'x-event-type': type, 'x-event-id': eventId, 'x-tenant': tenant }
    const delivery = { rawBody: Buffer.from(body), rawHeaders: Object.entries(headers).flat(), query: '' }
    return provider?.verify(delivery, 1_760_000_000_000, fetch)
  }

  it('is the one that was signed, and cannot be pushed into a neighbour', () => {
    expect(judge('payment.succeeded', id, '1.2')).toMatchObject({ signedId: id })
    expect(judge('payment.succeeded', `${id}.1`, '2')).toEqual({ refused: 'header_malformed' })
    expect(judge('payment', `succeeded.${id}`, '1.2')).toEqual({ refused: 'header_malformed' })
    expect(judge(`payment.succeeded.${id}`, '1', '2')).toEqual({ refused: 'header_malformed' })
  })
})
