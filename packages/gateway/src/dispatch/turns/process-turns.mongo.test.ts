import { setTimeout as sleep } from 'node:timers/promises'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { createFakeFulfilment } from '../../testing/fake-fulfilment.ts'
import { preload, startDispatcher, until, untilState } from '../../testing/start-dispatcher.ts'
import { createProcessTurns } from './process-turns.ts'

it('an event that may kill the process is sent while no dispatcher of the process has a call in progress', async () => {
  await using database = await testDatabase(process.env)
  await using otherDatabase = await testDatabase(process.env)
  const newTurn = createProcessTurns(() => performance.now())
  const [fake, otherFake] = [createFakeFulfilment(), createFakeFulfilment()]
  const [call, otherCall] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  fake.onCall = () => call.promise
  otherFake.onCall = () => otherCall.promise
  await using other = await startDispatcher(otherDatabase, { fake: otherFake, turn: newTurn() })
  await other.record('slow')
  await until(() => expect(otherFake.calls).toEqual([['slow']]))
  await using one = await startDispatcher(database, { fake, turn: newTurn(), isIdle: true })
  await preload(database, fake, ['suspect'])
  // As after two processes that died with it.
  await one.open.events.updateOne({ eventId: 'suspect' }, { $set: { lost: 2 } })
  one.dispatcher.start()
  await untilState(one, 'processing', 1)
  // Nothing should happen in this time, so there is no event to wait for.
  await sleep(1_000)
  expect(fake.calls, 'waits for the other').toEqual([])
  otherCall.resolve()
  await until(() => expect(fake.calls).toEqual([['suspect']]))
  await other.record('next')
  // As above.
  await sleep(1_000)
  expect(otherFake.calls, 'waits for the suspect').toEqual([['slow']])
  call.resolve()
  await until(() => expect(otherFake.calls).toEqual([['slow'], ['next']]))
  await untilState(one, 'done', 1)
})
