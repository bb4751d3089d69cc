import { Secret } from '@oncehook/kernel/secrets/secret'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startFaultProxy } from '../../../../../test/support/stack/fault-proxy.ts'
import { hmacProvider } from '../../testing/hmac-provider.ts'
import { startGateway } from '../../testing/start-gateway.ts'

it('deliveries are refused as usual while the database does not answer, and the gateway can stop', async () => {
  await using database = await testDatabase(process.env)
  await using mongo = await startFaultProxy()
  mongo.leadTo(Number(new URL(database.uri.reveal()).port))
  const gateway = await startGateway({
    database: { name: database.name, uri: new Secret(`mongodb://127.0.0.1:${mongo.port}/?directConnection=true`) },
    providers: { shop: hmacProvider({ id: 'only', value: 'a secret of a shop that nobody knows' }) },
    settings: { MAX_WEBHOOK_BYTES: '1000' },
  })
  const statusOf = async (body: string, headers: Record<string, string> = {}): Promise<number> => {
    const response = await fetch(`${gateway.url}/api/webhooks/shop`, { method: 'POST', body, headers })
    await response.arrayBuffer()
    return response.status
  }
  mongo.freeze()
  for (let time = 0; time < 50; time += 1) expect(await statusOf('{}')).toBe(401)
  expect(await statusOf('{}', { 'x-signature': 'ab'.repeat(32) })).toBe(401)
  expect(await statusOf('x'.repeat(1_001))).toBe(413)
  expect(await statusOf('{}', { 'content-encoding': 'gzip' })).toBe(415)
  await gateway.close()
  const [stage] = gateway.logs.filter((line) => line.stage === 'provider stats')
  expect(stage).toMatchObject({ msg: expect.stringMatching(/^service\.stage-/) })
})
