import { afterAll, describe, expect, it } from 'vitest'
import { refusalOf } from '../testing/fulfilment-client.ts'
import { newOrderId, openOrders } from '../testing/open-orders.ts'

const system = await openOrders(process.env)
afterAll(() => system[Symbol.asyncDispose]())
const { orders, put } = system

describe('orders.patch', () => {
  function patch(id: string, change: unknown, ifMatch: string | undefined = '"1"') {
    return orders.patch.mutate({ id, patch: change, ...(ifMatch === undefined ? {} : { ifMatch }) })
  }

  it('changes nothing when the result is the same', async () => {
    const id = newOrderId()
    const order = await put(id)
    expect(await patch(id, {})).toEqual(order)
    expect(await patch(id, { customerId: 'cus_1', status: 'pending', payment: null })).toEqual(order)
  })

  it('checks that the order is there, then that a version is named, then the version, then the patch', async () => {
    const id = newOrderId()
    await put(id)
    const refusals = [
      await refusalOf(orders.patch.mutate({ id: newOrderId(), patch: 1 })),
      await refusalOf(orders.patch.mutate({ id, patch: 1 })),
      await refusalOf(orders.patch.mutate({ id, patch: 1, ifMatch: '"9"' })),
      await refusalOf(orders.patch.mutate({ id, patch: 1, ifMatch: '"1"' })),
    ]
    expect(refusals.map(({ httpStatus, reason }) => [httpStatus, reason])).toEqual([
      [404, 'order_not_found'],
      [428, 'precondition_required'],
      [412, 'precondition_failed'],
      [422, 'patch_unprocessable'],
    ])
  })

  it.each([
    [[]],
    ['text'],
    [null],
    [{ status: 'paid' }],
    [{ access: 'unlocked' }],
    [{ amountDue: 1 }],
    [{ id: 'other' }],
    [{ version: 7 }],
    [{ createdAt: null }],
    [{ unknown: 1 }],
    [{ items: [] }],
    [{ customerId: null }],
    [{ currency: 'euro' }],
  ])('refuses %j and changes nothing', async (change) => {
    const id = newOrderId()
    const order = await put(id)
    expect(await refusalOf(patch(id, change))).toMatchObject({ reason: 'patch_unprocessable', httpStatus: 422 })
    expect(await orders.get.query({ id })).toEqual(order)
  })
})
