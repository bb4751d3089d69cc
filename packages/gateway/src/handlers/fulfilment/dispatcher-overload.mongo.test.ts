import { setTimeout as sleep } from 'node:timers/promises'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { endClaims } from '@oncehook/queue/testing/open-queue'
import { describe, expect, it } from 'vitest'
import { createFakeFulfilment } from '../../testing/fake-fulfilment.ts'
import { openInbox } from '../../testing/open-inbox.ts'
import { arrivalOf, many, overload, startDispatcher, until } from '../../testing/start-dispatcher.ts'

// The sleeps make fulfilment slow, so that less goes through than comes. No test waits for their end.
describe.concurrent('Dispatcher', () => {
  describe.concurrent('under more load than goes through', () => {
    it('FP-38: takes over the claims of a dead process, and tries deferred events again, under load', async () => {
      await using database = await testDatabase(process.env)
      const fake = createFakeFulfilment()
      fake.onCall = () => sleep(100)
      const options = { fake, batchSize: 5 }
      await using one = await startDispatcher(database, options)
      await using two = await startDispatcher(database, options)
      await using load = overload([one, two])
      await until(() => expect([one, two].some(({ dispatcher }) => dispatcher.admits())).toBe(false))
      await using dead = await openInbox(database)
      for (const id of many(20)) fake.orders.set(`order of ${id}`, 1)
      await Promise.all(many(20).map((id) => dead.inbox.record(arrivalOf(id))))
      await endClaims(dead, { eventId: { $in: many(20) } })
      await dead.inbox.record(arrivalOf('early'))
      await dead.claims().release(dead.claimedOnInsert.filter(({ eventId }) => eventId === 'early'))
      await until(async () => expect((await dead.record('early')).failing?.times).toBeGreaterThan(0))
      fake.orders.set('order of early', 1)
      const these = { eventId: { $in: [...many(20), 'early'] } }
      await until(async () => expect(await dead.events.countDocuments({ ...these, state: 'done' })).toBe(21))
      const open = await dead.events.countDocuments({ state: { $in: ['pending', 'processing'] } })
      expect(load.isOn(), 'the load lasts').toBe(true)
      expect(open, 'more than goes through').toBeGreaterThan(50)
    })
  })
})
