import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { failWith } from '../../testing/fake-fulfilment.ts'
import { sampleArrival } from '../../testing/open-inbox.ts'
import { arrivalOf, beginOutage, many, startDispatcher, until, untilState } from '../../testing/start-dispatcher.ts'

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
      expect(running.lines.filter(({ msg }) => msg === 'handler.unreachable')).toHaveLength(1)
    })
  })
})
