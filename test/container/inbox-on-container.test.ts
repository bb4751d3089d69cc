import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { createPaymentProvider, type DeliveryReport } from '@oncehook/simulator/payment-provider'
import { signers } from '@oncehook/webhooks/signing/signers'
import { MongoClient } from 'mongodb'
import { getContainerRuntimeClient } from 'testcontainers'
import { describe, expect, it } from 'vitest'
import { containerImage } from '../support/containers/container-images.ts'
import { startMongoContainer } from '../support/containers/mongo-container.ts'

const SECRET = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`

function paymentProvider(url: string) {
  const signer = signers.get('standard-webhooks')
  if (signer === undefined) throw new Error('The simulator knows no Standard Webhooks')
  const deps = { fetch: globalThis.fetch, now: Date.now, sleep: async () => undefined }
  const provider = createPaymentProvider(deps, {
    url: `${url}/api/webhooks/acme`,
    signer,
    secret: SECRET,
    timeoutMs: 15_000,
  })
  const event = { type: 'payment.succeeded', paymentId: 'pay_1', orderId: 'ord_1', amount: 1, currency: 'EUR' }
  return (id: string): Promise<DeliveryReport> => provider.deliver(provider.write({ id, ...event, occurredAt: 0 }))
}

describe('the inbox on MongoDB in a container', () => {
  it('stores before it answers, refuses while the database is frozen, and needs no restart after it', async (context) => {
    await using mongo = await startMongoContainer(await containerImage('mongo', context))
    const database = { uri: new Secret(mongo.uri), name: 'inbox' }
    const acme = { scheme: 'standard-webhooks', effects: ['payment.succeeded'], secrets: [{ id: 's1', value: SECRET }] }
    await using gateway = await startGateway({ database, providers: { acme } })
    await using client = await new MongoClient(mongo.uri).connect()
    const events = client.db(database.name).collection('events')
    const deliver = paymentProvider(gateway.url)
    const handle = (await getContainerRuntimeClient()).container.getById(mongo.container.getId())

    const copies = await Promise.all(Array.from({ length: 20 }, () => deliver('evt_before')))
    expect(copies.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(await events.countDocuments({ eventId: 'evt_before' })).toBe(1)

    await handle.pause()
    const frozen = await deliver('evt_frozen')
    expect(frozen).toMatchObject({ status: 500, body: expect.stringContaining('"not_stored"') })
    expect(frozen.ms).toBeLessThan(10_000)
    await handle.unpause()

    await expect.poll(async () => (await deliver('evt_frozen')).status, { interval: 500 }).toBe(200)
    expect(await events.countDocuments({ eventId: 'evt_frozen' })).toBe(1)
  })
})
