import { describe, expect, it } from 'vitest'
import { paymentOf, startStack } from '../support/stack/stack.ts'
import { untilEqual } from '../support/until.ts'

const COPIES = 50
const EVENTS = 4

describe('fifty copies of one event at once', () => {
  it('are fifty 200s, one record, one receipt and one version', async () => {
    await using stack = await startStack()
    const acme = stack.provider('acme')
    for (let round = 0; round < EVENTS; round += 1) {
      const order = await stack.orders.create()
      const message = acme.write(paymentOf(order))
      const answers = await Promise.all(Array.from({ length: COPIES }, () => acme.deliver(message)))
      expect(answers.map(({ status }) => status)).toEqual(Array(COPIES).fill(200))

      expect(await stack.orders.untilStatus(order.id, 'paid')).toMatchObject({ version: order.version + 1 })
      await stack.untilSettled()
      const records = await stack.events.find({ eventId: message.eventId }).toArray()
      expect(records).toMatchObject([{ state: 'done', starts: 1, mismatches: 0 }])
      const receipts = await stack.receipts()
      expect(receipts.filter(({ orderId }) => orderId === order.id)).toHaveLength(1)
      expect(await stack.orders.read(order.id)).toMatchObject({ version: order.version + 1 })
    }
    expect(await stack.events.countDocuments()).toBe(EVENTS)
    // Every copy is counted on the record, a moment later.
    await untilEqual(() => stack.events.countDocuments({ deliveries: COPIES }), EVENTS)
  })
})
