import { setTimeout as sleep } from 'node:timers/promises'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { failWith } from '../testing/fake-fulfilment.ts'
import { openInbox, sampleArrival } from '../testing/open-inbox.ts'
import { arrivalOf, beginOutage, many, startDispatcher, until, untilState } from '../testing/start-dispatcher.ts'

const HOUR_MS = 3_600_000
// Nothing should happen in this time, so there is no event to wait for.
const TWO_POLLS_MS = 1_200

describe.concurrent('Dispatcher', () => {
  describe.concurrent('while fulfilment is unavailable', () => {
    it('gives its claims back, sends one probe at a time, and drains everything when it is back', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { batchSize: 10, concurrency: 2 })
      const { fake, dispatcher } = running
      await beginOutage(running, ...many(80))
      await until(async () =>
        expect(await running.open.events.countDocuments({ state: 'processing' })).toBeLessThanOrEqual(1),
      )
      const first = fake.calls.length
      expect(first).toBeLessThanOrEqual(4)
      await until(() => expect(fake.calls.length).toBeGreaterThan(first + 1))
      for (const probe of fake.calls.slice(first)) expect(probe).toHaveLength(1)
      await running.record('late')
      expect(await running.open.record('late')).toMatchObject({ state: 'pending', starts: 0 })
      expect(await running.open.events.countDocuments({ state: 'dead' })).toBe(0)
      failWith(fake, null)
      await untilState(running, 'done', 81)
      expect(fake.applied.toSorted()).toEqual([...many(80), 'late'].toSorted())
      await until(() => expect(dispatcher.admits()).toBe(true))
    })

    it('keeps one probe in flight, however long it takes', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { batchSize: 5 })
      const { fake } = running
      await beginOutage(running, ...many(20))
      const { promise, resolve } = Promise.withResolvers<void>()
      fake.onCall = () => promise
      const before = fake.calls.length
      await until(() => expect(fake.calls.length).toBe(before + 1))
      await sleep(TWO_POLLS_MS)
      expect(fake.calls.length).toBe(before + 1)
      resolve()
      await untilState(running, 'done', 20)
    })

    it('is detected again by one of the events that arrived just before it failed, when that event is due', async () => {
      await using database = await testDatabase(process.env)
      let now = 0
      await using running = await startDispatcher(database, { batchSize: 1, concurrency: 2, clock: { now: () => now } })
      const { fake, dispatcher } = running
      await beginOutage(running, 'first')
      // Claimed on insert while all was well, but given to the dispatcher only afterwards.
      await using slow = await openInbox(database)
      for (const id of ['second', 'third']) {
        fake.orders.set(`order of ${id}`, 1)
        await slow.inbox.record(arrivalOf(id))
      }
      for (const claim of slow.claimedOnInsert) dispatcher.take({ ...claim })
      await sleep(TWO_POLLS_MS)
      expect(fake.calls).toHaveLength(1)
      const { promise, resolve } = Promise.withResolvers<void>()
      fake.onCall = () => promise
      now = 1_000
      await until(() => expect(fake.calls).toHaveLength(2))
      // The third would be sent as soon as the second is: nothing happens that could be waited for.
      await sleep(100)
      expect(fake.calls).toHaveLength(2)
      resolve()
      await until(() => expect(fake.applied.toSorted()).toEqual(['first', 'second', 'third']))
      await until(() => expect(dispatcher.admits()).toBe(true))
    })

    it.each([-HOUR_MS, HOUR_MS])(
      'finds it again though the clock of the process is set by %i ms meanwhile',
      async (step) => {
        await using database = await testDatabase(process.env)
        let offset = 0
        await using running = await startDispatcher(database, { clock: { now: () => Date.now() + offset } })
        const { fake } = running
        await beginOutage(running, ...many(5))
        offset = step
        failWith(fake, null)
        await running.record('meanwhile')
        await untilState(running, 'done', 6)
        offset = 0
        await running.record('after')
        await untilState(running, 'done', 7)
      },
    )

    it('does not take its own refusal for a sign of life', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { batchSize: 5 })
      const { fake, open } = running
      await beginOutage(running, 'a')
      const { event } = arrivalOf('unreadable')
      const facts = { ...event.facts, unreadable: 'amount_mismatch' } as const
      await open.inbox.record(sampleArrival('unreadable', { event: { ...event, facts } }))
      await untilState(running, 'dead', 1)
      const calls = fake.calls.length
      await until(() => expect(fake.calls.length).toBeGreaterThan(calls + 1))
      // It is logged once for each time that fulfilment was well before.
      expect(running.lines.filter(({ msg }) => msg === 'fulfilment.unreachable')).toHaveLength(1)
    })
  })
})
