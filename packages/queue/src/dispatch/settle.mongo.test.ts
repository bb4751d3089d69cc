import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { expect, it } from 'vitest'
import { applied, done, failed, openFreshQueue, storePending } from '../testing/open-queue.ts'
import { settlesShared } from './settle.ts'

it('outcomes that come while others are written share one command, and each caller learns of its lost claims', async () => {
  await using open = await openFreshQueue(process.env)
  const ids = Array.from({ length: 30 }, (_, index) => `e${index}`)
  await storePending(open, ids)
  const claims = settlesShared(open.claims())
  const held = await claims.claimDue(30)
  await open.events.updateOne({ eventId: 'e7' }, { $set: { claim: 'of another' } })
  open.commands.length = 0
  const lost = await Promise.all(
    held.map((claim, index) =>
      claims.settle([
        index % 2 === 0
          ? { claim, settlement: done, attempt: { ...applied, ms: index } }
          : { claim, settlement: { state: 'dead', reason: 'x' }, attempt: failed },
      ]),
    ),
  )
  expect(open.commands.map(({ commandName }) => commandName)).toEqual(['update', 'find'])
  expect(lost.flat().map(({ claim }) => claim.eventId)).toEqual(['e7'])
  for (const [index, { eventId }] of held.entries()) {
    const record = await open.record(eventId)
    if (eventId === 'e7') expect(record.state).toBe('processing')
    else
      expect(record).toMatchObject({
        state: index % 2 === 0 ? 'done' : 'dead',
        attempts: [{ ms: index % 2 === 0 ? index : 5 }],
      })
  }
})

it('outcomes do not wait for a command that hangs', async () => {
  await using open = await openFreshQueue(process.env)
  await storePending(open, ['e0', 'e1'])
  const claims = settlesShared(open.claims())
  const [first, second] = await claims.claimDue(2)
  const how = { blockConnection: true, blockTimeMS: 4_000 }
  await using _ = await armFailPoint(open.database.uri, { commands: ['update'], appName: open.appName, how })
  const settle = (claim = first!) => claims.settle([{ claim, settlement: done, attempt: applied }])
  const hung = settle().then(() => 'hung')
  await expect.poll(() => open.commands.filter(({ commandName }) => commandName === 'update').length).toBe(2)
  const other = settle(second).then(() => 'other')
  expect(await Promise.race([hung, other])).toBe('other')
  expect((await open.record('e1')).state).toBe('done')
  expect(await hung).toBe('hung')
  expect((await open.record('e0')).state).toBe('done')
})
