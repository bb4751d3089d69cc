import { invalidRequest } from '@oncehook/kernel/http/error-codes'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { FreshPauses } from '@oncehook/queue/dispatch/fresh-pauses'
import { Pauses, pausedDueAt } from '@oncehook/queue/pauses'
import { EVENTS } from '@oncehook/queue/task'
import { describe, expect, it } from 'vitest'
import { createFakeFulfilment } from '../../testing/fake-fulfilment.ts'
import { openInbox } from '../../testing/open-inbox.ts'
import { arrivalOf, many, preload, startDispatcher, until, untilState } from '../../testing/start-dispatcher.ts'

const HOUR_MS = 3_600_000

describe.concurrent('Dispatcher', () => {
  it('claims nothing before its start, and dispatches what was stored until then', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database, { isIdle: true })
    await running.record('a', 'b')
    expect(await running.open.events.countDocuments({ state: 'pending', starts: 0 })).toBe(2)
    running.dispatcher.start()
    await untilState(running, 'done', 2)
  })

  it('gives an event its effect as soon as it is stored, without a write for the claim', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    await running.record('a')
    await untilState(running, 'done', 1)
    expect(await running.open.record('a')).toMatchObject({
      starts: 1,
      attempts: [{ outcome: 'applied', code: null }],
    })
    expect(running.fake.applied).toEqual(['a'])
    const writes = running.open.commands.filter(({ command }) => command.update === EVENTS)
    expect(writes).toHaveLength(1)
  })

  it('sends the events of a burst together', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    await running.record(...many(60))
    await untilState(running, 'done', 60)
    expect(running.fake.calls.length).toBeLessThanOrEqual(4)
    expect(running.fake.applied).toHaveLength(60)
  })

  it('finds events that are due and unclaimed', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    await preload(database, fake, many(25))
    await using running = await startDispatcher(database, { fake, batchSize: 10 })
    await untilState(running, 'done', 25)
    expect(Math.max(...fake.calls.map(({ length }) => length))).toBe(10)
    expect(new Set(fake.applied).size).toBe(25)
  })

  it.each([
    ['a group at a time after the first death', 0, [25, 25, 10]],
    ['each alone after the second death', 1, Array(12).fill(1)],
  ])('takes over the events that a dead process held, %s', async (_, lost, sizes) => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    const ids = many(sizes.reduce((sum, size) => sum + size, 0))
    await using dead = await openInbox(database)
    for (const id of ids) fake.orders.set(`order of ${id}`, 1)
    await Promise.all(ids.map((id) => dead.inbox.record(arrivalOf(id))))
    await dead.events.updateMany({}, [{ $set: { lost, dueAt: '$$NOW' } }])
    await using running = await startDispatcher(database, { fake })
    await untilState(running, 'done', ids.length)
    expect(fake.calls.map(({ length }) => length)).toEqual(sizes)
    expect(await dead.events.countDocuments({ starts: 2, lost: 0 })).toBe(ids.length)
  })

  it('handles a record without counters, and its neighbours', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    await preload(database, fake, many(9))
    await using looking = await openInbox(database)
    await looking.events.updateOne({ eventId: 'e4' }, { $unset: { lost: '', starts: '', failing: '' } })
    await using running = await startDispatcher(database, { fake })
    await untilState(running, 'done', 9)
    expect(fake.applied).toHaveLength(9)
  })

  it('sends an event again when its order changes meanwhile', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    const { fake } = running
    fake.answer = () => (fake.calls.length < 4 ? { refused: 'precondition_failed', retry: 'now' } : null)
    await running.record('a')
    await untilState(running, 'done', 1)
    expect(fake.calls).toEqual([['a'], ['a'], ['a'], ['a']])
    expect(await running.open.record('a')).toMatchObject({ starts: 1 })
  })

  it('marks a permanently refused event as dead, with the reason, and no other', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    running.fake.answer = ({ eventId }) => (eventId === 'e3' ? { refused: 'amount_mismatch', retry: 'never' } : null)
    await running.record(...many(8))
    await untilState(running, 'done', 7)
    expect(await running.open.record('e3')).toMatchObject({
      ...{ state: 'dead', reason: 'amount_mismatch', starts: 1 },
      attempts: [{ code: 'amount_mismatch' }],
    })
  })

  it('isolates an event that fulfilment cannot read', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    running.fake.onCall = (commands) => {
      if (commands.some(({ eventId }) => eventId === 'e5')) throw invalidRequest()
    }
    await running.record(...many(12))
    await untilState(running, 'done', 11)
    expect(await running.open.record('e5')).toMatchObject({ state: 'dead', reason: 'invalid_request' })
    await until(() => expect(running.dispatcher.admits()).toBe(true))
  })

  it('waits for an order that is not there yet, and applies the event once it is', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    await running.open.inbox.record(arrivalOf('early'))
    await until(async () => expect((await running.open.record('early')).failing?.times).toBeGreaterThan(1))
    const { attempts } = await running.open.record('early')
    expect(attempts.at(-1)).toMatchObject({ code: 'order_unknown' })
    running.fake.orders.set('order of early', 1)
    await untilState(running, 'done', 1)
  })

  it('gives up on an order for which it has waited an hour', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    await preload(database, fake, ['old', 'young'])
    fake.orders.clear()
    await using looking = await openInbox(database)
    const failing = { times: 9, waitedMs: HOUR_MS, code: 'order_unknown', codeMs: HOUR_MS }
    await looking.events.updateOne({ eventId: 'old' }, { $set: { failing } })
    await using running = await startDispatcher(database, { fake })
    await untilState(running, 'dead', 1)
    expect(await looking.record('old')).toMatchObject({ reason: 'order_unknown', failing: { times: 10 } })
    expect(await looking.record('young')).not.toMatchObject({ state: 'dead' })
  })

  it('releases waiting events when their provider is paused, and sends them when it is resumed', async () => {
    await using database = await testDatabase(process.env)
    const pauses = new Pauses(database.db, 'provider_pauses')
    const used = new FreshPauses({ pauses, now: () => performance.now(), onError: () => undefined })
    await using running = await startDispatcher(database, { batchSize: 1, concurrency: 1, pauses: used })
    const { promise, resolve } = Promise.withResolvers<void>()
    running.fake.onCall = () => promise
    await running.record(...many(4))
    await until(() => expect(running.fake.calls).toEqual([['e0']]))
    await pauses.pause({ name: 'acme', by: 'alice', reason: 'a wrong mapping' })
    resolve()
    const dueAt = pausedDueAt('acme')
    await until(async () => expect(await running.open.events.countDocuments({ state: 'pending', dueAt })).toBe(3))
    expect(running.fake.applied).toEqual(['e0'])
    await pauses.resume('acme')
    await untilState(running, 'done', 4)
    expect(running.fake.applied).toEqual(many(4))
  })

  it('sends nothing of a provider that was paused elsewhere while it had nothing to send', async () => {
    await using database = await testDatabase(process.env)
    const elsewhere = new Pauses(database.db, 'provider_pauses')
    const pauses = new Pauses(database.db, 'provider_pauses')
    // No spy: the other tests of this file run at the same time, and the start of each forgets what spies have seen.
    let reads = 0
    const counted = {
      get current() {
        return pauses.current
      },
      async refresh() {
        await pauses.refresh()
        reads += 1
      },
    }
    // A clock on which the looks of every second are close together.
    let now = 0
    const used = new FreshPauses({ pauses: counted, now: () => now, onError: () => undefined })
    await using running = await startDispatcher(database, { pauses: used })
    await until(() => expect(reads).toBeGreaterThan(0))
    await used.refresh()
    await elsewhere.pause({ name: 'acme', by: 'alice', reason: 'a wrong mapping' })
    now = 5_000
    await running.record('a')
    const dueAt = pausedDueAt('acme')
    await until(async () => expect(await running.open.record('a')).toMatchObject({ state: 'pending', dueAt }))
    expect(running.fake.calls).toEqual([])
    expect(pauses.current.has('acme')).toBe(true)
  })

  it('counts a claim that it lost, and drops its outcome', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    await using other = await openInbox(database)
    const { promise, resolve } = Promise.withResolvers<void>()
    running.fake.onCall = () => promise
    await running.record('a')
    await until(() => expect(running.fake.calls.length).toBe(1))
    await other.events.updateOne({ eventId: 'a' }, { $inc: { starts: 1 }, $set: { claim: 'of another' } })
    resolve()
    await until(() => expect(running.lost()).toBe(1))
    expect(await other.record('a')).toMatchObject({ state: 'processing', claim: 'of another' })
  })

  it('settles again when that failed: no second attempt of the event, no wait for the end of its claim', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    const { fake, open } = running
    const { promise, resolve } = Promise.withResolvers<void>()
    fake.onCall = () => promise
    await running.record('a')
    await until(() => expect(fake.calls.length).toBe(1))
    {
      const how = { closeConnection: true }
      await using _ = await armFailPoint(database.uri, { commands: ['update'], appName: open.appName, times: 2, how })
      resolve()
      await until(() => expect(running.lines.map(({ msg }) => msg)).toContain('event.settle-failed'))
    }
    await untilState(running, 'done', 1)
    expect(fake.applied).toEqual(['a'])
    expect(await open.record('a')).toMatchObject({ attempts: [{ outcome: 'applied', version: 2 }], starts: 1 })
    await until(() => expect(running.settled()).toBe(1))
    expect(running.lost()).toBe(0)
  })

  it('leaves another process its share of a long list', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    await preload(database, fake, many(400))
    const gate = Promise.withResolvers<void>()
    fake.onCall = () => gate.promise
    const options = { fake, batchSize: 20, isIdle: true }
    await using one = await startDispatcher(database, options)
    await using two = await startDispatcher(database, options)
    one.dispatcher.start()
    await untilState(one, 'processing', 80)
    two.dispatcher.start()
    await untilState(two, 'processing', 160)
    gate.resolve()
    await until(() => expect(one.settled() + two.settled()).toBe(400))
    expect(await one.open.events.countDocuments({ state: 'done' })).toBe(400)
    expect(Math.min(one.settled(), two.settled())).toBeGreaterThanOrEqual(40)
    expect(new Set(fake.applied).size).toBe(400)
    expect(one.lost() + two.lost()).toBe(0)
  })

  describe.concurrent('stop', () => {
    it('lets the current call end and releases the rest at once, nothing counted', async () => {
      await using database = await testDatabase(process.env)
      await using running = await startDispatcher(database, { batchSize: 2, concurrency: 1 })
      const { fake, open, dispatcher } = running
      const { promise, resolve } = Promise.withResolvers<void>()
      fake.onCall = () => promise
      await running.record(...many(6))
      await until(() => expect(fake.calls.length).toBe(1))
      const stopped = dispatcher.stop()
      await untilState(running, 'pending', 4)
      resolve()
      await stopped
      expect(await open.events.countDocuments({ state: 'done' })).toBe(2)
      expect(await open.events.countDocuments({ state: 'pending', lost: 0, failing: { $exists: false } })).toBe(4)
      expect(fake.calls).toHaveLength(1)
      expect(dispatcher.admits()).toBe(false)
    })
  })
})
