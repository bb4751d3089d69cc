import { describe, expect, it } from 'vitest'
import { readRecordedCalls } from './recorded-calls.ts'

describe('readRecordedCalls', () => {
  it('reads a query, whose input is in the address, and a mutation, whose input is the body', () => {
    const refusal = { reason: 'order_unknown', httpStatus: 404, retry: 'later' }
    const pact = {
      consumer: { name: 'gateway' },
      interactions: [
        {
          description: 'reads an order',
          request: { method: 'GET', path: '/trpc/orders.get', query: 'input=%7B%22id%22%3A%22ord_1%22%7D' },
          response: { status: 200, body: { result: { data: { id: 'ord_1' } } } },
        },
        {
          description: 'reads another order',
          request: { method: 'GET', path: '/trpc/orders.get', query: { input: ['{"id":"ord_2"}'] } },
          response: { status: 404, body: { error: { message: 'x', code: -1, data: refusal } } },
        },
        {
          description: 'makes an order',
          request: { method: 'POST', path: '/trpc/orders.create', body: { order: {} } },
          response: { status: 200, body: { result: { data: null } } },
        },
      ],
    }
    expect(readRecordedCalls(pact)).toEqual({
      consumer: 'gateway',
      calls: [
        {
          ...{ does: 'reads an order', procedure: 'orders.get', kind: 'query', input: { id: 'ord_1' }, status: 200 },
          data: { id: 'ord_1' },
        },
        {
          ...{ does: 'reads another order', procedure: 'orders.get', kind: 'query', input: { id: 'ord_2' } },
          ...{ status: 404, refusal },
        },
        {
          ...{
            does: 'makes an order',
            procedure: 'orders.create',
            kind: 'mutation',
            input: { order: {} },
            status: 200,
          },
          data: null,
        },
      ],
    })
  })
})
