import { ObjectId } from 'mongodb'
import { expect, it } from 'vitest'
import type { Claim } from '../inbox/claims/claim.ts'
import { HANDLERS } from './handlers.ts'

const claim: Claim = {
  ...{
    _id: new ObjectId(),
    provider: 'acme',
    handler: 'fulfilment',
    fence: 1,
    lost: 0,
    failedCalls: 0,
    internalErrors: 0,
    requestId: 'r',
  },
  ...{ failures: 0, failedForMs: 0, orderUnknownForMs: 0 },
  event: { id: 'evt_1', type: 'payment.succeeded', objectId: 'pay_1', facts: { orderId: 'ord_1' } },
}

it.each([...HANDLERS])('a test event never becomes a command of %s', (_, handler) => {
  expect(handler(claim)).toHaveProperty('command')
  expect(handler({ ...claim, test: true })).toEqual({ refused: 'test_event' })
})
