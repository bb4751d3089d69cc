import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { openInbox } from '../../testing/open-inbox.ts'
import { arrivalOf, type RunningDispatcher, startDispatcher, until } from '../../testing/start-dispatcher.ts'

const LEASE_MS = 27_000
/** The longest wait between two searches for the dead, and the end of a lease that comes in the middle of the next one. */
const SLOW_MS = LEASE_MS / 6
const ENDS_IN_MS = SLOW_MS * 1.2
// The promised two seconds, and one for a busy machine.
const LATE_MS = 3_000

/** Waits until the searches for dead holders are as rare as they become. Resolves right after one. */
async function untilSlow({ open }: RunningDispatcher): Promise<void> {
  let latest = performance.now()
  let count = 0
  await until(() => {
    const searches = open.commands.filter(({ commandName }) => commandName === 'aggregate').length
    if (searches === count) throw new Error('No new search')
    const gap = performance.now() - latest
    latest = performance.now()
    count = searches
    if (gap < SLOW_MS * 0.8) throw new Error('Another one soon')
  })
}

it('takes over within two seconds after a lease has ended, although nobody had died for long', async () => {
  await using database = await testDatabase(process.env)
  await using holder = await openInbox(database)
  await using running = await startDispatcher(database, { leaseMs: LEASE_MS })
  running.fake.orders.set('order of a', 1)
  const gate = Promise.withResolvers<void>()
  running.fake.onCall = () => gate.promise
  await holder.claims({ leaseMs: LEASE_MS }).beat()
  await untilSlow(running)
  const owners = database.db.collection<{ readonly _id: string; readonly aliveUntil: Date }>('owners')
  await holder.inbox.record(arrivalOf('a'))
  const { leaseOwner: _id } = await holder.record('a')
  await owners.updateOne({ _id: String(_id) }, [{ $set: { aliveUntil: { $add: ['$$NOW', ENDS_IN_MS] } } }])
  const endedAt = (await owners.findOne({ _id: String(_id) }))?.aliveUntil ?? expect.unreachable()
  await until(async () => expect(await holder.record('a')).toMatchObject({ fence: 2 }))
  const { claimedAt } = await holder.record('a')
  gate.resolve()
  const afterMs = Number(claimedAt) - endedAt.getTime()
  expect(afterMs).toBeGreaterThan(0)
  expect(afterMs).toBeLessThan(LATE_MS)
})
