import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { serveApi } from '@oncehook/webhooks/testing/serve-api'
import { afterAll, describe, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { reverifyEvent } from '../../operator/events/reverify-event.ts'
import { remap } from '../../operator/replays/replay-slice.ts'
import { PROVIDER_SOURCES } from '../../testing/provider-sources.ts'
import { startGateway } from '../../testing/start-gateway.ts'
import { readProviders } from './providers.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const value = 'a_secret_hash_that_comes_in_clear'
const data = { id: 2859, tx_ref: 'ord_1', amount: 19.99, currency: 'EUR', status: 'successful' }
const api = stack.use(await serveApi({ '/v3/transactions/2859/verify': [200, { status: 'success', data }] }))
const shared = { scheme: 'flutterwave', fetch: { baseUrl: `${api.baseUrl}/v3`, token: 'a_token_of_the_api' } }
const providers = { shop: { ...shared, secrets: [{ id: 'only', value }] } }
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(await startGateway({ database, providers }))
const events = database.db.collection<EventDocument>(EVENTS)

function configured(settings: object) {
  return readProviders(JSON.stringify(settings), PROVIDER_SOURCES)
}

async function storedDelivery(): Promise<EventDocument> {
  const headers = { 'content-type': 'application/json', 'verif-hash': value }
  const body = JSON.stringify({ event: 'charge.completed', data })
  const response = await fetch(`${gateway.url}/api/webhooks/shop?token=${value}`, { method: 'POST', headers, body })
  expect(response.status).toBe(200)
  return (await events.findOne({ orderId: 'ord_1' })) ?? expect.unreachable()
}

describe('an event whose provider sent its secret in plaintext', () => {
  it('is stored without it, and can be checked and read again all the same', async () => {
    const record = await storedDelivery()
    expect(JSON.stringify(record)).not.toContain(value)
    expect(record.headers['verif-hash']).toMatch(/^hmac-sha256=[0-9a-f]{64}$/)
    expect(await reverifyEvent(record, { providers: () => configured(providers), fetch })).toMatchObject({
      valid: true,
      secretId: 'only',
    })
    const read = await remap(record, { providers: () => configured(providers), fetch })
    expect(read).toMatchObject({ members: { type: 'payment.succeeded', orderId: 'ord_1', facts: { amount: 1_999 } } })
  })
})
