import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../testing/start-gateway.ts'

const token = randomBytes(24).toString('hex')
const API_TOKENS = JSON.stringify({ shop: token })
const order = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'a', quantity: 1, unitAmount: 1 }] }

async function askInVain(gateway: RunningGateway, [method, path, body]: readonly [string, string, (object | string)?]) {
  const headers = {
    ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json', 'if-match': '*' },
    ...(method === 'POST' ? { 'idempotency-key': '"once"' } : {}),
  }
  const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
  const response = await fetch(`${gateway.url}/api/orders${path}`, { method, headers, ...sent })
  await response.arrayBuffer()
  expect(response.status).toBe(503)
}

it('a change of an order whose answer got lost is in the audit log, and one that was never sent is not', async () => {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await testDatabase(process.env))
  // Reads every call, and closes the connection without an answer.
  const lossy = createServer((request) => void request.resume().on('end', () => request.socket.destroy()))
  await once(lossy.listen(0, '127.0.0.1'), 'listening')
  stack.defer(() => void lossy.close())
  const address = lossy.address()
  const port = address === null || typeof address === 'string' ? 0 : address.port
  const gateway = await startGateway({
    ...{ database, settings: { API_TOKENS }, fulfilmentUrl: `http://127.0.0.1:${port}` },
  })
  await askInVain(gateway, ['GET', '/ord_1'])
  await askInVain(gateway, ['DELETE', '/ord_1'])
  await askInVain(gateway, ['PUT', '/ord_2', order])
  await askInVain(gateway, ['PATCH', '/ord_3', { note: 'x' }])
  await askInVain(gateway, ['POST', '', order])
  // A body that is not JSON makes no order.
  await askInVain(gateway, ['POST', '', '{"customerId":'])
  await gateway.close()

  // No server listens on this port.
  const cutOff = await startGateway({ database, settings: { API_TOKENS }, fulfilmentUrl: 'http://127.0.0.1:2' })
  await askInVain(cutOff, ['DELETE', '/ord_4'])
  await cutOff.close()

  const entry = (action: string, orderId: string | null) => ({
    ...{ by: 'api:shop', action, details: { orderId, version: null, unconfirmed: true } },
  })
  expect(await database.db.collection('audit').find().sort({ seq: 1 }).toArray()).toMatchObject([
    entry('orders.delete', 'ord_1'),
    entry('orders.put', 'ord_2'),
    entry('orders.patch', 'ord_3'),
    entry('orders.create', null),
  ])
})
