import { createHmac } from 'node:crypto'
import { systemClock } from '@oncehook/kernel/clock'
import { Lifecycle } from '@oncehook/kernel/lifecycle'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { EVENTS } from '../inbox/event-document.ts'
import { readGatewaySettings } from '../settings.ts'
import { createDispatcher } from './create-dispatcher.ts'
import { layFoundation } from './lay-foundation.ts'
import { startFront } from './start-front.ts'
import { startInbox } from './start-inbox.ts'

const SECRET = 'canary-secret-of-a-provider-in-a-test'

it('takes deliveries while nothing else is loaded; whatever else is asked for is answered when it is', async () => {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await testDatabase(process.env))
  const { logger } = memoryLogger()
  const lifecycle = new Lifecycle(logger)
  resources.defer(async () => void (await lifecycle.stop()))
  const settings = readGatewaySettings({
    ...{ GATEWAY_PORT: '0', ADMIN_PORT: '0', GATEWAY_DB: database.name, MONGODB_URI: database.uri.reveal() },
    SERVICE_TOKEN_SECRET: 'canary-secret-of-the-services-in-a-test',
    PROVIDERS: JSON.stringify({
      acme: { scheme: 'hmac', header: 'x-signature', secrets: [{ id: 'only', value: SECRET }] },
    }),
  })
  const parts = { settings, logger, clock: systemClock, random: Math.random, fetch: globalThis.fetch }
  const foundation = layFoundation(parts, lifecycle)
  await foundation.mongo.accepting.open()
  const front = await startFront(foundation, startInbox(foundation, createDispatcher(foundation)))
  const url = `http://127.0.0.1:${front.port}`

  const asked = [fetch(`${url}/api/orders`), fetch(`${url}/healthz`, { method: 'POST', body: 'of a request' })]
  const body = '{"id":"evt_1","type":"customer.created","data":{"object":{"id":"cus_1"}}}'
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'x-signature': signature, 'content-type': 'application/json' }
  const delivered = await fetch(`${url}/api/webhooks/acme`, { method: 'POST', body, headers })
  expect(delivered.status).toBe(200)
  expect(await database.db.collection(EVENTS).countDocuments()).toBe(1)

  let served = 0
  front.serve((request, response) => {
    served += 1
    request.pipe(response)
  })
  expect(served).toBe(0)
  expect(await Promise.all(asked.map(async (answer) => (await answer).text()))).toEqual(['', 'of a request'])
  expect(await (await fetch(url, { method: 'POST', body: 'of a later one' })).text()).toBe('of a later one')
})
