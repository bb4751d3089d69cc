import { join } from 'node:path'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { Verifier } from '@pact-foundation/pact'
import { expect, it } from 'vitest'
import { CONTRACTS, readPact } from './pact-files.ts'

const NAME = 'gateway-fulfilment.json'
const CONTENT = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'sku_1', quantity: 1, unitAmount: 1999 }] }

interface FilteredRequest {
  readonly path: string
  readonly headers: Record<string, string>
}

it('fulfilment answers the gateway as the contract says', async () => {
  await using database = await testDatabase(process.env)
  await using fulfilment = await startFulfilment({ uri: database.uri, database: database.name })
  const client = fulfilmentClient(fulfilment)
  const token = await fulfilment.token()
  const states: string[] = []
  const pending = (id: string) => async (): Promise<void> => {
    states.push(id)
    await client.orders.put.mutate({ id, order: CONTENT })
  }
  await new Verifier({
    provider: 'fulfilment',
    providerBaseUrl: fulfilment.url,
    pactUrls: [join(CONTRACTS, NAME)],
    logLevel: 'error',
    requestFilter: ((request: FilteredRequest, _response: unknown, next: () => void) => {
      if (!request.path.startsWith('/_pact')) request.headers.authorization = `Bearer ${token}`
      next()
    }) as never,
    stateHandlers: {
      'the order ord_present is pending in version 1': pending('ord_present'),
      'the order ord_applied is pending in version 1': pending('ord_applied'),
      'the order ord_stale is pending in version 2': async () => {
        await pending('ord_stale')()
        await client.orders.put.mutate({ id: 'ord_stale', order: { ...CONTENT, note: 'changed' } })
      },
      'the event evt_duplicate has paid the order ord_duplicate': async () => {
        await pending('ord_duplicate')()
        const event = { provider: 'acme', eventId: 'evt_duplicate', type: 'payment.succeeded' as const }
        const payment = { paymentId: 'pay_duplicate', orderId: 'ord_duplicate', amount: 1999, currency: 'EUR' }
        const applied = await client.payments.applyEvents.mutate({ events: [{ ...event, ...payment, ifMatch: '"1"' }] })
        expect(applied.results).toEqual([{ outcome: 'applied', version: 2 }])
      },
      'there is no order ord_unknown': async () => {
        states.push('ord_unknown')
      },
    },
  }).verifyProvider()
  // A state that is missing or fails does not fail the verification by itself.
  const { interactions } = await readPact(CONTRACTS, NAME)
  expect(states.toSorted()).toEqual(['ord_applied', 'ord_duplicate', 'ord_present', 'ord_stale', 'ord_unknown'])
  expect(interactions).toHaveLength(states.length)
  expect(await fulfilment.db.collection('orders').countDocuments({ status: 'paid' })).toBe(2)
})
