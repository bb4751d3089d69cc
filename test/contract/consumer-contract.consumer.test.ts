import { expect, it } from 'vitest'
import { type Exchange, openConsumerContract } from './consumer-contract.ts'

const exchange: Exchange = {
  ...{ does: 'looks in', states: [] },
  ...{ request: { method: 'GET', path: '/shop', headers: { accept: 'text/plain' } }, answer: { status: 200 } },
}

it.each([
  ['another path', '/cellar', { accept: 'text/plain' }],
  ['another header', '/shop', { accept: 'text/html' }],
])('expectExchange fails if the consumer asks with %s', async (_, path, headers) => {
  await using contract = await openConsumerContract('customer', 'shop')
  const asked = contract.expectExchange(exchange, async (url) => void (await fetch(`${url}${path}`, { headers })))
  await expect(asked).rejects.toThrow('The consumer customer and the contract customer-shop.json differ: looks in')
})
