import { describe, expect, it } from 'vitest'
import type { Claim } from '../../inbox/claims/claim.ts'
import { sampleClaim } from '../../testing/sample-claim.ts'
import { writeTaskEvent } from './task-event.ts'

const receivedAt = new Date('2026-11-26T10:00:00Z')

function claimOf(facts: Claim['event']['facts']): Claim {
  const event = { id: 'evt_1', type: 'invoice.paid', objectId: 'in_1', facts }
  return sampleClaim('evt_1', { provider: 'stripe', handler: 'billing', event })
}

function write(body: Buffer | string, facts: Claim['event']['facts'] = { orderId: '' }) {
  const raw = Buffer.from(body as string)
  const { json, ...rest } = writeTaskEvent(claimOf(facts), 'billing', { receivedAt, attempt: 3, raw })
  return { ...rest, json, event: JSON.parse(json) as Record<string, unknown> }
}

describe('writeTaskEvent', () => {
  it('has the key, the names of the event, and its body as JSON', () => {
    expect(write('{"amount":5}')).toMatchObject({
      ...{ key: 'stripe:evt_1:billing', attempt: 3 },
      event: {
        ...{
          key: 'stripe:evt_1:billing',
          provider: 'stripe',
          eventId: 'evt_1',
          type: 'invoice.paid',
          objectId: 'in_1',
        },
        ...{ receivedAt: '2026-11-26T10:00:00.000Z', body: { amount: 5 } },
      },
    })
  })

  it('has the order and the time of the event if they are known', () => {
    const { event } = write('{}', { orderId: 'ord_1', occurredAt: '2026-11-26T09:00:00Z' })
    expect(event).toMatchObject({ orderId: 'ord_1', occurredAt: '2026-11-26T09:00:00Z' })
    expect(Object.keys(write('{}').event)).not.toContain('orderId')
  })

  it('says where the event is in a body with several', () => {
    expect(write('[{},{}]', { orderId: '', pointer: '/1' }).event).toMatchObject({ pointer: '/1', body: [{}, {}] })
    expect(Object.keys(write('{}').event)).not.toContain('pointer')
  })

  it('copies a body that is JSON as it is, so that no number loses digits', () => {
    expect(write('{"id":12345678901234567890}').json).toContain('"body":{"id":12345678901234567890}}')
  })

  it.each([
    ['a form', 'a=1&b=2'],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('puts %s into raw, as base64', (_, body) => {
    const { event } = write(body)
    expect(event.raw).toBe(Buffer.from(body as string).toString('base64'))
    expect(event).not.toHaveProperty('body')
  })

  it('is the same at every attempt', () => {
    const raw = Buffer.from('{}')
    const at = (attempt: number) => writeTaskEvent(claimOf({ orderId: '' }), 'x', { receivedAt, attempt, raw }).json
    expect(at(1)).toBe(at(2))
  })
})
