import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { expect, it } from 'vitest'
import { createUnreadableOrders } from './stored/order-encryption.ts'

function open() {
  const { logger, lines } = memoryLogger()
  const clock = { ms: 1_000_000 }
  const unreadable = createUnreadableOrders(logger, () => clock.ms)
  const named = () => lines.splice(0).map(({ msg, orderId, member }) => ({ msg, orderId, member }))
  return { unreadable, clock, named }
}

const line = (orderId: string, more: object = {}) => ({
  ...{ msg: 'order.unreadable', orderId, member: undefined },
  ...more,
})

it('names an order once a minute, however often it is read', () => {
  const { unreadable, clock, named } = open()
  for (let n = 0; n < 5; n += 1) unreadable.report('o1', { member: 'note' })
  unreadable.report('o2')
  expect(named()).toEqual([line('o1', { member: 'note' }), line('o2')])
  clock.ms += 59_999
  unreadable.report('o1')
  expect(named()).toEqual([])
  clock.ms += 1
  unreadable.report('o1')
  expect(named()).toEqual([line('o1')])
})
