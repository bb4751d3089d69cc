import { createHmac } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { example } from '@oncehook/webhooks/testing/example-scheme'
import { afterAll, describe, expect, it, vi } from 'vitest'

// Its line in schemes.ts. Nothing else of the gateway is replaced.
vi.mock(import('../../../../webhooks/src/schemes/schemes.ts'), async (original) => ({
  SCHEMES: new Map((await original()).SCHEMES).set(example.name, example),
}))

// Test files of one worker share loaded modules: this one loads its own, and leaves none to the next.
vi.resetModules()
const { SettingsError } = await import('@oncehook/kernel/settings/settings')
const { startGateway } = await import('../../testing/start-gateway.ts')

const stack = new AsyncDisposableStack()
afterAll(async () => {
  await stack.disposeAsync()
  vi.resetModules()
})
const secret = 'a_secret_of_an_example'
const providers = { acme: { scheme: 'example', secrets: [{ id: 'only', value: secret }] } }
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(await startGateway({ database, providers }))
const events = database.db.collection('events')
const body = '{"what":"settled","which":"p_1","order":"ord_0001"}'

async function deliver(sent: string, key = secret): Promise<number> {
  const signature = `v7=${createHmac('sha512', key).update(body).digest('hex')}`
  const headers = { 'content-type': 'application/json', 'x-example-signature': signature }
  const response = await fetch(`${gateway.url}/api/webhooks/acme`, { method: 'POST', headers, body: sent })
  await response.arrayBuffer()
  return response.status
}

describe('a scheme that is added by one file and its line in the list', () => {
  it('accepts authentic deliveries at the real route, once, as one of our events', async () => {
    expect([await deliver(body), await deliver(body)]).toEqual([200, 200])
    expect(await events.find().toArray()).toMatchObject([
      { provider: 'acme', type: 'payment.succeeded', objectId: 'p_1', orderId: 'ord_0001', secretId: 'only' },
    ])
  })

  it('refuses what is not', async () => {
    const before = await events.countDocuments()
    expect([await deliver(body, 'another_secret_of_it'), await deliver(body.replace('p_1', 'p_2'))]).toEqual([401, 401])
    expect(await events.countDocuments()).toBe(before)
  })

  it('has its settings checked as every other', async () => {
    const { acme } = providers
    const started = startGateway({ database, providers: { acme: { ...acme, prefix: 'v8=' } } })
    await expect(started).rejects.toThrow(SettingsError)
    await expect(startGateway({ database, providers: { acme: { ...acme, scheme: 'exemple' } } })).rejects.toThrow()
  })
})
