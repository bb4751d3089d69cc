import type { PaymentFacts } from '@oncehook/webhooks/providers'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { writeTaskEvent } from '../../packages/gateway/src/handlers/task-event.ts'
import { describeHandler, taskSchema } from './describe-handler.ts'

const receivedAt = new Date('2026-11-26T10:00:01.000Z')

/** An event of a batch, as the gateway writes it. */
function written(objectId: string, { orderId, ...facts }: PaymentFacts, body: string): unknown {
  const claim = {
    ...{
      _id: new ObjectId(),
      provider: 'stripe',
      handler: 'billing',
      ...{ claim: 'c', endsAt: 0, starts: 1, lost: 0, failures: 0 },
    },
    ...{ waited: 0, waitedFor: null, eventId: 'evt_1' },
    record: { type: 'invoice.paid', objectId, orderId, facts },
  }
  const { json } = writeTaskEvent(claim, 'billing', { receivedAt, attempt: 1, raw: Buffer.from(body) })
  return { attempt: 1, ...JSON.parse(json) }
}

describe('the description of events.handle', () => {
  it('has no property that the gateway does not write, and requires none that it leaves out', () => {
    const most = written(
      'obj_1',
      { orderId: 'ord_1', occurredAt: '2026-11-26T10:00:00Z', pointer: '/0' },
      '[{"id":"evt_1"}]',
    )
    const least = written('', { orderId: '' }, 'a=1')
    for (const event of [most, least]) expect(taskSchema.loose().parse(event)).toEqual(event)
    const names = [most, least].flatMap((event) => Object.keys(event as object))
    // What a later gateway adds breaks no handler.
    expect(names).toEqual(expect.arrayContaining(Object.keys(taskSchema.shape)))
  })

  it('has the request with its batch, and the answer with one result for each event', () => {
    const { 'events.handle': handle } = describeHandler().procedures
    expect(handle?.kind).toBe('mutation')
    expect(handle?.input.required).toEqual(['handler', 'events'])
    const results = { items: { anyOf: [expect.anything(), expect.anything()] } }
    expect(handle?.output.properties).toMatchObject({ results })
  })
})
