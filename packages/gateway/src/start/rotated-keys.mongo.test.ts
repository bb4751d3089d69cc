import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import { createPublicKeysSource } from '@oncehook/kernel/secrets/service-keys'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startGateway } from '../testing/start-gateway.ts'

const API_TOKEN = 'the-token-of-a-shop-in-a-test-of-rotation'
const [OLD, NEW] = [newServiceKeyPair(), newServiceKeyPair()]

it('the key pair of the services is changed for another one without one refused call', async () => {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-rotation-'))
  stack.defer(() => rm(folder, { recursive: true }))
  const files = { gateway: join(folder, 'gateway'), fulfilment: join(folder, 'fulfilment') }
  const write = (service: 'gateway' | 'fulfilment', ...keys: string[]) => writeFile(files[service], keys.join(''))
  await write('gateway', OLD.privateKey)
  await write('fulfilment', OLD.publicKey)
  const [inner, database] = [stack.use(await testDatabase(process.env)), stack.use(await testDatabase(process.env))]
  const { logger, lines } = memoryLogger()
  const serviceKeys = createPublicKeysSource({ SERVICE_PUBLIC_KEYS_FILE: files.fulfilment })
  const fulfilment = stack.use(await startFulfilment({ uri: inner.uri, database: inner.name, serviceKeys, logger }))
  const settings = { API_TOKENS: JSON.stringify({ shop: API_TOKEN }) }
  const gateway = stack.use(
    await startGateway({ database, settings, fulfilmentUrl: fulfilment.url, privateKeyFile: files.gateway }),
  )
  const call = async () => {
    const headers = { authorization: `Bearer ${API_TOKEN}` }
    return (await fetch(`${gateway.url}/api/orders?limit=1`, { headers })).status
  }
  await expect.poll(call).toBe(200)

  let changing = true
  const statuses = new Set<number>()
  const callers = Promise.all(
    Array.from({ length: 2 }, async () => {
      while (changing) statuses.add(await call())
    }),
  )
  const change = async (service: keyof typeof files, ...keys: string[]): Promise<void> => {
    const told = service === 'gateway' ? gateway.logs : lines
    const changes = () => told.filter(({ msg }) => msg === 'service-keys.changed').length
    const before = changes()
    await write(service, ...keys)
    await expect.poll(changes).toBe(before + 1)
  }
  await change('fulfilment', OLD.publicKey, NEW.publicKey)
  await change('gateway', NEW.privateKey)
  await change('fulfilment', NEW.publicKey)
  changing = false
  await callers
  expect([...statuses]).toEqual([200])
  await change('gateway', OLD.privateKey)
  expect(await call()).toBe(503)
})
