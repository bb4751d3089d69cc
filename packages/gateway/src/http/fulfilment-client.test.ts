import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newServiceKeyPair, testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { isBrokenCall } from '@oncehook/queue/dispatch/retry-policy'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createFakeFulfilment, type ReceivedCommand } from '../testing/fake-fulfilment.ts'
import { serveFake } from '../testing/serve-fake.ts'
import { createApplyEvents, createFulfilmentClient } from './fulfilment-client.ts'

const pair = newServiceKeyPair()
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const fake = createFakeFulfilment()
const served = stack.use(await serveFake(fake))
beforeEach(() => {
  served.received.length = 0
  served.canned = () => null
  fake.orders.clear()
})

function open(url = served.url, timeoutMs = 5_000) {
  const tokens = testServiceTokens(pair)
  const client = createFulfilmentClient(new URL(url), tokens, globalThis.fetch, timeoutMs)
  return createApplyEvents(client)
}

const event: ReceivedCommand = {
  ...{ provider: 'acme', eventId: 'evt_1', paymentId: 'pay_1', orderId: 'ord_1' },
  ...{ type: 'payment.succeeded', ifMatch: '*' },
}

/** An error in the format of the real service. */
function refusal(status: number, reason: string, more: object = {}): { status: number; body: string } {
  const data = { code: 'X', httpStatus: status, reason, retry: 'never', ...more }
  return { status, body: JSON.stringify({ error: { message: 'A sentence of fulfilment', code: -32_000, data } }) }
}

describe('createApplyEvents', () => {
  it.each([
    ['a refused token', refusal(401, 'unauthenticated')],
    ['a fault over there', refusal(500, 'internal')],
    ['a service that is not ready', refusal(503, 'unavailable')],
    [
      'a refusal that names no reason',
      { status: 400, body: '{"error":{"message":"x","code":1,"data":{"httpStatus":400}}}' },
    ],
    ['a page of a proxy', { status: 502, body: '<html>Bad gateway</html>' }],
    ['an answer of another form', { status: 200, body: '{"ok":true}' }],
    ['a connection that is reset', 'reset'],
    [
      'an answer that is longer than any about payments',
      { status: 200, body: `{"result":{"data":{"results":[],"more":"${'x'.repeat(3_000_000)}"}}}` },
    ],
  ] as const)('says unavailable for %s', async (_, canned) => {
    served.canned = () => canned
    await expect(open()([event])).rejects.toMatchObject({ code: 'unavailable', status: 503, retry: 'later' })
  })

  it('knows the 502 of a proxy, which is no answer of fulfilment, for a broken call', async () => {
    const proxy = createServer((request, response) => {
      request.resume()
      response.writeHead(502, { 'Content-Type': 'text/html' }).end('<html>Bad gateway</html>')
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const { port } = proxy.address() as AddressInfo
    const thrown = await open(`http://127.0.0.1:${port}`)([event]).catch((error: unknown) => error)
    proxy.closeAllConnections()
    proxy.close()
    expect(thrown).toMatchObject({ code: 'unavailable', details: { status: 502 } })
    expect(isBrokenCall(thrown)).toBe(true)
  })

  it('says unavailable when nobody listens', async () => {
    await expect(open('http://127.0.0.1:1')([event])).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('waits no longer than its time-out', async () => {
    served.canned = () => 'hang'
    await expect(open(served.url, 50)([event])).rejects.toMatchObject({ code: 'unavailable' })
  })
})
