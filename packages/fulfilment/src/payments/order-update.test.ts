import { Binary } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type LiveOrder, newOrder } from '../orders/stored/order-document.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { decideOrder } from './decide-order.ts'
import { orderUpdate } from './order-update.ts'
import { eventHash } from './payment-event.ts'

const NOW = new Date('2026-11-21T10:00:00.000Z')
const PENDING = newOrder('o1', sampleOrder(), NOW)
const SEALED = { key: 'first', wrapped: new Binary(Buffer.alloc(60)), text: new Binary(Buffer.alloc(40)) }

function statementFor(order: LiveOrder, type: 'payment.succeeded' | 'payment.failed') {
  const event = sampleEvent({ orderId: 'o1', type })
  const { change } = decideOrder(order, [{ ...event, hash: eventHash(event) }], { now: NOW, call: 'call_1' })
  if (change === null) throw new Error('Nothing changes')
  return orderUpdate(change, null)
}

describe('orderUpdate', () => {
  it('makes a receipt only of an email that no rotation has encrypted again meanwhile', () => {
    const { q, u } = statementFor({ ...PENDING, email: SEALED }, 'payment.succeeded')
    expect(q).toMatchObject({ version: 1, 'email.key': { $eq: 'first' } })
    expect(u.$push).toMatchObject({ receipts: { email: SEALED } })
  })

  it.each([
    ['an email in plain text', 'payment.succeeded', 'a@example.com'],
    ['no receipt to make', 'payment.failed', SEALED],
  ] as const)('asks for the version alone with %s', (_, type, email) => {
    expect(statementFor({ ...PENDING, email }, type).q).not.toHaveProperty('email.key')
    expect(Object.keys(statementFor({ ...PENDING, email }, type).q)).toEqual(['_id', 'version', 'applied'])
  })
})
