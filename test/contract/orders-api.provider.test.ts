import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { contractsOf } from './pact-files.ts'
import { CONTENT } from './paid-orders.ts'
import { verifyContract } from './verify-contract.ts'

const SHOP = 'the-token-of-a-shop-in-a-test-of-contracts'
const READER = 'the-token-of-a-reader-in-a-test-of-contracts'

it.each(contractsOf('orders-api'))('the gateway answers shops as $name says', async (contract) => {
  await using database = await testDatabase(process.env)
  await using fulfilmentDatabase = await testDatabase(process.env)
  const { uri, name } = fulfilmentDatabase
  await using fulfilment = await startFulfilment({ uri, database: name })
  const { orders } = fulfilmentClient(fulfilment)
  let token = SHOP
  let isThere = true
  await using gateway = await startGateway({
    ...{ database, fulfilmentUrl: fulfilment.url, keys: fulfilment.keys },
    settings: {
      API_TOKENS: JSON.stringify({ shop: SHOP, reader: { tokens: [{ value: READER }], scopes: ['orders:read'] } }),
    },
    fetch: (input, init) => (isThere ? fetch(input, init) : Promise.reject(new TypeError('fetch failed'))),
  })
  const usual = (): void => {
    token = SHOP
    isThere = true
  }
  await verifyContract({
    contract,
    url: gateway.url,
    filter: ({ headers }) => {
      headers.authorization = `Bearer ${token}`
    },
    states: {
      'nothing in particular': async () => usual(),
      'there is no order': async () => usual(),
      'there is an order': async ({ orderId: id, version }: { orderId: string; version: number }) => {
        usual()
        for (let at = 1; at <= version; at += 1) {
          const note = at === 1 ? {} : { note: `version ${at}` }
          await orders.put.mutate({ id, order: { ...CONTENT, ...note } })
        }
        expect(await orders.get.query({ id })).toMatchObject({ version })
      },
      'the shop has another token': async () => {
        token = 'the-token-of-somebody-else-in-a-test-of-contracts'
      },
      'the shop may only read': async () => {
        usual()
        token = READER
      },
      'fulfilment does not answer': async () => {
        usual()
        isThere = false
      },
    },
  })
})
