import { unavailable } from '@oncehook/kernel/http/error-codes'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { failWith } from '../../testing/fake-fulfilment.ts'
import { connectionReset, many, overload, startDispatcher, until, untilState } from '../../testing/start-dispatcher.ts'

describe.concurrent('Dispatcher', () => {
  describe.concurrent('with an event that makes fulfilment fail', () => {
    it('tries its neighbours apart from it, keeps calls flowing, and marks it as dead with a reason', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { maxCrashes: 4 })
      const { fake, open } = running
      fake.onCall = (commands) => {
        if (commands.some(({ eventId }) => eventId === 'bad')) throw connectionReset()
      }
      await using load = overload([running])
      await until(() => expect(running.settled()).toBeGreaterThan(10))
      await running.record(...many(60), 'bad')
      await until(async () => expect(await open.record('bad')).toMatchObject({ state: 'dead' }))
      expect(await open.record('bad')).toMatchObject({ reason: 'fulfilment_failed' })
      const done = { eventId: { $in: many(60) }, state: 'done' } as const
      await until(async () => expect(await open.events.countDocuments(done)).toBe(60))
      expect(load.isOn()).toBe(true)
      expect(await open.events.countDocuments({ state: 'dead' })).toBe(1)
      const tries = fake.calls.filter((call) => call.includes('bad'))
      // A call that breaks while another is answered may not count.
      expect(tries.length).toBeLessThanOrEqual(8)
      expect(tries.slice(-2)).toEqual([['bad'], ['bad']])
    })

    it('lets it kill fulfilment a few times at most, however long fulfilment takes to come back', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { maxCrashes: 3 })
      const { fake, open } = running
      let deaths = 0
      let isUp = true
      fake.onCall = (commands) => {
        if (!isUp) throw unavailable()
        if (!commands.some(({ eventId }) => eventId === 'bad')) return
        deaths += 1
        isUp = false
        setTimeout(() => {
          isUp = true
        }, 300)
        throw connectionReset()
      }
      await using _ = overload([running])
      await running.record(...many(30), 'bad')
      await until(async () => expect(await open.record('bad')).toMatchObject({ state: 'dead' }))
      expect(await open.record('bad')).toMatchObject({ reason: 'fulfilment_failed' })
      const done = { eventId: { $in: many(30) }, state: 'done' } as const
      await until(async () => expect(await open.events.countDocuments(done)).toBe(30))
      expect(deaths).toBeLessThanOrEqual(6)
    })

    it('counts no outage in which fulfilment dies at each event', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { maxCrashes: 2 })
      const { fake, open } = running
      await running.record('before')
      await untilState(running, 'done', 1)
      fake.onCall = () => {
        throw connectionReset()
      }
      await running.record(...many(3))
      const alone = () => fake.calls.slice(1).filter(({ length }) => length === 1)
      await until(() => expect(alone().length).toBeGreaterThan(4))
      expect(await open.events.countDocuments({ state: 'dead' })).toBe(0)
      failWith(fake, null)
      await untilState(running, 'done', 4)
    })

    it('tries it again and again if it is the only event: that may be an outage, and only others can tell', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { maxCrashes: 3 })
      const { fake, open } = running
      fake.onCall = (commands) => {
        if (commands.some(({ eventId }) => eventId === 'bad')) throw connectionReset()
      }
      await running.record('bad')
      await until(async () => expect((await open.record('bad')).failing?.times).toBeGreaterThan(3))
      expect(await open.record('bad')).toMatchObject({ state: 'processing', lost: 0 })
      let others = 0
      await until(async () => {
        others += 1
        await running.record(`other ${others}`)
        expect(await open.record('bad')).toMatchObject({ state: 'dead' })
      })
      expect(await open.record('bad')).toMatchObject({ reason: 'fulfilment_failed' })
      await untilState(running, 'done', others)
    })
  })
})
