import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { systemClock } from '@oncehook/kernel/time/clock'
import { MongoNetworkError } from 'mongodb'
import { expect, it } from 'vitest'
import { Dispatcher } from '../../dispatch/dispatcher.ts'
import { NO_PAUSES } from '../../testing/no-pauses.ts'
import { openInbox } from '../../testing/open-inbox.ts'
import { arrivalOf, limits, many } from '../../testing/start-dispatcher.ts'
import { createReleaseUnread } from './create-release-unread.ts'
import { processTasks, type TaskDeps } from './process-tasks.ts'

const LEASE_MS = 30_000

it('tasks that the database does not yield are read again soon, and neither they nor the handler have failed', async () => {
  await using database = await testDatabase(process.env)
  await using open = await openInbox(database, { admits: () => false })
  await Promise.all(many(5).map((id) => open.inbox.record(arrivalOf(id))))
  const { logger, lines } = memoryLogger()
  const claims = open.claims({ leaseMs: LEASE_MS })
  let reads = 0
  const sent: string[] = []
  const deps: TaskDeps = {
    async *read(claimed) {
      reads += 1
      for (const claim of claimed) {
        if (reads < 3) throw new MongoNetworkError('The pool was cleared')
        yield { claim, read: { key: claim.event.id, attempt: 1, json: '{}' } }
      }
    },
    releaseUnread: createReleaseUnread({ claims, logger, handler: 'billing', countError: () => undefined }),
    async call(tasks) {
      sent.push(...tasks.map(({ key }) => key))
      return tasks.map(() => ({ done: true }))
    },
    ...{ limits, random: Math.random, sendsTests: false },
  }
  const dispatcher = new Dispatcher({
    ...{ claims, logger, clock: systemClock, random: Math.random, pauses: NO_PAUSES, handler: 'billing' },
    ...{ batchSize: 5, concurrency: 1, leaseMs: LEASE_MS, maxCrashes: 8 },
    process: (batch) => processTasks(deps, batch),
    ...{ onSettled: () => undefined, onLost: () => undefined },
  })
  await using stack = new AsyncDisposableStack()
  stack.defer(() => dispatcher.stop())
  dispatcher.start()
  const done = (): Promise<number> => open.events.countDocuments({ state: 'done', attempts: { $size: 1 } })
  await expect.poll(done).toBe(5)
  expect(sent.toSorted()).toEqual(many(5))
  expect(await open.events.countDocuments({ firstFailedAt: { $exists: true } })).toBe(0)
  expect(lines.map(({ msg }) => msg)).toEqual(['dispatch.database-failed', 'dispatch.database-failed'])
  expect(dispatcher.isUp).toBe(true)
})
