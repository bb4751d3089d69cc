import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { describe, expect, it } from 'vitest'
import { createFakeFulfilment } from '../../testing/fake-fulfilment.ts'
import { openInbox } from '../../testing/open-inbox.ts'
import { arrivalOf, many, startDispatcher, until, untilState } from '../../testing/start-dispatcher.ts'

describe.concurrent('Dispatcher', () => {
  it('gives an event its effect as soon as it is stored, without a write for the claim', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    await running.record('a')
    await untilState(running, 'done', 1)
    expect(await running.open.record('a')).toMatchObject({ starts: 1, attempts: [{ outcome: 'applied', code: null }] })
    expect(running.fake.applied).toEqual(['a'])
    const writes = running.open.commands.filter(({ command }) => command.update === EVENTS)
    expect(writes).toHaveLength(1)
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

  it('FP-09: marks a permanently refused event as dead, with the reason, and no other', async () => {
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

  it('FP-17: waits for an order that is not there yet, and applies the event once it is', async () => {
    await using database = await testDatabase(process.env)
    await using running = await startDispatcher(database)
    await running.open.inbox.record(arrivalOf('early'))
    await until(async () => expect((await running.open.record('early')).failing?.times).toBeGreaterThan(1))
    const { attempts } = await running.open.record('early')
    expect(attempts.at(-1)).toMatchObject({ code: 'order_unknown' })
    running.fake.orders.set('order of early', 1)
    await untilState(running, 'done', 1)
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
})
