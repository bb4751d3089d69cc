import { Binary } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type LiveOrder, newOrder } from '../orders/stored/order-document.ts'
import type { FirstClaim } from '../receipts/claims/receipt-claim.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { decideOrder } from './decide-order.ts'
import { orderUpdate } from './order-update.ts'
import { eventHash } from './payment-event.ts'

const NOW = new Date('2026-11-21T10:00:00.000Z')
const PENDING = newOrder('o1', sampleOrder(), NOW)
const SEALED = { key: 'first', wrapped: new Binary(Buffer.alloc(60)), text: new Binary(Buffer.alloc(40)) }

const CLAIM = { heldBy: 'call_1', until: new Date(NOW.getTime() + 30_000), keyIds: ['first'] }

function statementFor(order: LiveOrder, type: 'payment.succeeded' | 'payment.failed', claim: FirstClaim | null = null) {
  const event = sampleEvent({ orderId: 'o1', type })
  const { change } = decideOrder(order, [{ ...event, hash: eventHash(event) }], { now: NOW, call: 'call_1' })
  if (change === null) throw new Error('Nothing changes')
  return orderUpdate(change, claim)
}

describe('orderUpdate', () => {
  it('makes a receipt only of an email that no rotation has encrypted again meanwhile', () => {
    const { q, u } = statementFor({ ...PENDING, email: SEALED }, 'payment.succeeded')
    expect(q).toMatchObject({ version: 1, 'email.key': { $eq: 'first' } })
    expect(u.$push).toMatchObject({ receipts: { email: SEALED } })
  })

  it('makes a receipt of an email in plain text only while no rotation has encrypted it', () => {
    const { q } = statementFor({ ...PENDING, email: 'a@example.com' }, 'payment.succeeded')
    expect(q).toMatchObject({ version: 1, email: { $type: 'string' } })
  })

  it.each([
    ['no email', 'payment.succeeded', undefined],
    ['no receipt to make', 'payment.failed', SEALED],
    ['no receipt to make and an email in plain text', 'payment.failed', 'a@example.com'],
  ] as const)('asks for the version alone with %s', (_, type, email) => {
    const order = { ...PENDING, ...(email === undefined ? {} : { email }) }
    expect(Object.keys(statementFor(order, type).q)).toEqual(['_id', 'version', 'applied'])
  })

  it.each([
    ['in plain text', 'a@example.com'],
    ['encrypted by a key that is there', SEALED],
    ['missing', undefined],
  ])('makes a receipt that is claimed already, with an email %s', (_, email) => {
    const order = { ...PENDING, ...(email === undefined ? {} : { email }) }
    const { receipts } = statementFor(order, 'payment.succeeded', CLAIM).u.$push
    const claimed = { state: 'sending', fence: 1, heldBy: 'call_1', dueAt: CLAIM.until, attempts: 1 }
    expect(receipts).toMatchObject({ ...claimed, sentAt: null, lastError: null })
  })
})
