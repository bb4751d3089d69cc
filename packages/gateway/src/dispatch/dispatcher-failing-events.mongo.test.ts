import { invalidRequest, unavailable } from '@oncehook/kernel/http/error-codes'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { failWith } from '../testing/fake-fulfilment.ts'
import {
  beginOutage,
  connectionReset,
  limits,
  many,
  overload,
  startDispatcher,
  until,
  untilState,
} from '../testing/start-dispatcher.ts'

describe.concurrent('Dispatcher', () => {
  describe.concurrent('with an event that makes fulfilment fail', () => {
    it('lets no neighbour wait for it, keeps calls flowing, and marks it as dead with a reason', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { maxCrashes: 4 })
      const { fake, open, lines } = running
      fake.onCall = (commands) => {
        if (commands.some(({ eventId }) => eventId === 'bad')) throw unavailable()
      }
      await using _ = overload([running])
      await until(() => expect(running.settled()).toBeGreaterThan(10))
      await running.record(...many(60), 'bad')
      await until(async () => expect(await open.record('bad')).toMatchObject({ state: 'dead' }))
      expect(await open.record('bad')).toMatchObject({ reason: 'fulfilment_failed' })
      await until(async () => {
        expect(await open.events.countDocuments({ eventId: { $in: many(60) }, state: 'done' })).toBe(60)
      })
      expect(await open.events.countDocuments({ state: 'done', failures: { $gt: 0 } }), 'put off').toBe(0)
      expect(lines.filter(({ msg }) => msg === 'fulfilment.unreachable')).toEqual([])
      const tries = fake.calls.filter((call) => call.includes('bad'))
      expect(tries.length).toBeLessThanOrEqual(4)
      expect(tries.at(-1)).toEqual(['bad'])
    })

    it('lets it kill fulfilment at most MAX_CRASHES times, even if nothing else is tried', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { maxCrashes: 3 })
      const { fake, open } = running
      let deaths = 0
      let isUp = true
      const { versions } = fake.procedures
      Object.assign(fake.procedures, {
        versions: (ids: string[]) => (isUp ? versions(ids) : Promise.reject(unavailable())),
      })
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
      await running.record(...many(30), 'bad')
      await untilState(running, 'done', 30)
      await untilState(running, 'dead', 1)
      expect(await open.record('bad')).toMatchObject({ reason: 'fulfilment_failed' })
      expect(deaths).toBeLessThanOrEqual(3)
    })

    it('counts no outage against it, however often fulfilment is unavailable', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { maxCrashes: 2 })
      const { fake, open } = running
      failWith(fake, unavailable())
      await running.record('a')
      await until(async () => expect((await open.record('a')).failures).toBeGreaterThan(4))
      expect(await open.record('a')).not.toHaveProperty('failedCalls')
      for (let outages = 0; outages < 5; outages += 1) {
        await beginOutage(running, ...many(20).map((id) => `${id} of ${outages}`))
        failWith(fake, null)
        await untilState(running, 'done', 1 + 20 * (outages + 1))
      }
      expect(await open.events.countDocuments({ state: 'dead' })).toBe(0)
    })

    it.each([
      ['from the start', false],
      ['after it was well', true],
    ])('counts no outage in which fulfilment dies at each event, %s', async (_, wasWell) => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { maxCrashes: 2 })
      const { fake, open } = running
      if (wasWell) {
        await running.record('before')
        await untilState(running, 'done', 1)
      }
      const before = fake.calls.length
      fake.onCall = () => {
        throw connectionReset()
      }
      await running.record(...many(3))
      const alone = () => fake.calls.slice(before).filter(({ length }) => length === 1)
      await until(() => expect(alone().length).toBeGreaterThan(4))
      expect(await open.events.countDocuments({ state: 'dead' })).toBe(0)
      failWith(fake, null)
      await untilState(running, 'done', wasWell ? 4 : 3)
    })

    it('lets it kill fulfilment at most MAX_CRASHES times if it is the only event', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { maxCrashes: 3 })
      running.fake.onCall = () => {
        throw connectionReset()
      }
      await running.record('bad')
      await untilState(running, 'dead', 1)
      expect(await running.open.record('bad')).toMatchObject({ reason: 'fulfilment_failed' })
      expect(running.fake.calls).toHaveLength(3)
      await running.record('bad')
      await running.open.counts.flush()
      await until(async () => expect(await running.open.record('bad')).toMatchObject({ state: 'dead', revivals: 1 }))
      expect(running.fake.calls, 'deaths after another delivery').toHaveLength(4)
    })

    it('does not hold the others while a call with it hangs', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database)
      const { fake, open } = running
      const hanging: PromiseWithResolvers<void>[] = []
      fake.onCall = (commands) => {
        if (!commands.some(({ eventId }) => eventId === 'bad')) return
        const call = Promise.withResolvers<void>()
        hanging.push(call)
        return call.promise
      }
      await using _ = overload([running])
      await until(() => expect(running.settled()).toBeGreaterThan(10))
      await running.record(...many(60), 'bad')
      for (let tries = 1; tries <= 3; tries += 1) {
        await until(() => expect(hanging).toHaveLength(tries))
        const before = running.settled()
        await until(() => expect(running.settled()).toBeGreaterThan(before + 10))
        hanging.at(-1)?.reject(unavailable())
      }
      const done = { eventId: { $in: many(60) }, state: 'done' } as const
      await until(async () => expect(await open.events.countDocuments(done)).toBe(60))
      for (const call of hanging) call.reject(unavailable())
    })

    it('makes none dead because of a fault that fulfilment has with every order', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database)
      const { fake } = running
      fake.answer = () => ({ refused: 'internal', retry: 'later' })
      await running.record(...many(3))
      await until(() => expect(fake.calls.flat().length).toBeGreaterThan(3 * limits.maxInternalErrors))
      expect(await running.open.events.countDocuments({ state: 'dead' })).toBe(0)
      fake.answer = () => null
      await untilState(running, 'done', 3)
    })

    it('makes an event dead that fulfilment cannot read, even if each event is sent alone', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { batchSize: 1 })
      const { fake, open } = running
      fake.onCall = (commands) => {
        if (commands.some(({ eventId }) => eventId === 'bad')) throw invalidRequest()
      }
      await running.record('bad')
      let others = 0
      await until(async () => {
        others += 1
        await running.record(`other ${others}`)
        expect(await open.record('bad')).toMatchObject({ state: 'dead' })
      })
      expect(await open.record('bad')).toMatchObject({
        reason: 'invalid_request',
        lastError: { code: 'invalid_request' },
      })
      const { attempts } = await open.record('bad')
      expect(attempts.length).toBeGreaterThan(limits.maxInternalErrors)
      expect(await open.events.countDocuments({ state: 'dead' })).toBe(1)
    })

    it('ends one that fulfilment refuses with `internal`, and shows that as the reason', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database)
      const { fake, open } = running
      fake.answer = ({ eventId }) => (eventId === 'bad' ? { refused: 'internal', retry: 'later' } : null)
      await running.record(...many(8), 'bad')
      await untilState(running, 'done', 8)
      await untilState(running, 'dead', 1)
      expect(await open.record('bad')).toMatchObject({
        ...{ reason: 'internal', failures: limits.maxInternalErrors, lastError: { code: 'internal' } },
      })
    })
  })
})
