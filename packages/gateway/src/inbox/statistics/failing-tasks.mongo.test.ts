import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { IN_LINE_DUE_AT } from '@oncehook/queue/task'
import { describe, expect, it } from 'vitest'
import { openInbox } from '../../testing/open-inbox.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import type { EventDocument } from '../event-document.ts'
import { readFailingTasks } from './failing-tasks.ts'

const NOW = Date.UTC(2026, 10, 27)
const WAITS = { handler: 'billing', state: 'pending', dueAt: new Date(NOW + 60_000) } as const

/** A task that has failed this number of times, the last time with this status. */
function failing(failures: number, status: number, members: Partial<EventDocument> = {}): EventDocument {
  const attempt = { ms: 1, outcome: 'deferred', code: 'handler_failed', message: `The handler answered ${status}` }
  const attempts = [{ ...attempt, message: 'Another one' }, attempt].map((one) => ({
    ...one,
    at: new Date(NOW + failures),
  }))
  return sampleRecord({ ...WAITS, failing: { times: failures }, attempts, ...members })
}

describe('readFailingTasks', () => {
  it('counts the tasks that have failed several times, and has their newest error', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    await open.events.insertMany([
      ...[failing(3, 500), failing(7, 401), failing(4, 404)],
      // Failed once, never tried, in line, dead, and of another handler.
      ...[failing(2, 503), sampleRecord({ handler: 'billing', state: 'pending' })],
      ...[failing(9, 500, { dueAt: IN_LINE_DUE_AT }), failing(9, 500, { state: 'dead' })],
      failing(9, 500, { handler: 'search' }),
    ])
    const found = await readFailingTasks(open.db, ['billing', 'nobody'])
    const lastError = { code: 'handler_failed', message: 'The handler answered 401', at: new Date(NOW + 7) }
    expect([...found]).toEqual([['billing', { tasks: 3, lastError }]])
  })
})
