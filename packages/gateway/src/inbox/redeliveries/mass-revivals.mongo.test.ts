import { randomUUID } from 'node:crypto'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { AUDIT_INDEXES } from '../../operator/audit/audit.ts'
import { openInbox, sampleArrival } from '../../testing/open-inbox.ts'
import { createRedeliveryCounter, type Requeued } from './redeliveries.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const open = stack.use(await openInbox(database))
await ensureIndexes(database.db, [AUDIT_INDEXES])

const HOUR_MS = 3_600_000

function countWith(onRequeued: (revivals: readonly Requeued[]) => Promise<void>) {
  const { logger, lines } = memoryLogger()
  const outcomes: string[] = []
  let dropped = 0
  const counts = createRedeliveryCounter({
    ...{ db: open.db, logger, flushMs: HOUR_MS, onRequeued },
    ...{ maxCrashes: 3, redeliveryMs: () => HOUR_MS },
    onBodyConflict: () => undefined,
    onRedelivered: (_, outcome) => void outcomes.push(outcome),
    onDropped() {
      dropped += 1
    },
  })
  const add = (id: string, bodyHash: string): void =>
    counts.add({ provider: 'acme', handler: 'fulfilment', event: sampleArrival(id).event, bodyHash })
  return { counts, add, outcomes, dropped: () => dropped, lines }
}

/** Stores dead events. Returns the hashes of their bodies by their ids. */
async function storeDead(count: number): Promise<Map<string, string>> {
  const ids = Array.from({ length: count }, () => `evt_${randomUUID()}`)
  await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
  const stored = { eventId: { $in: ids } }
  await open.events.updateMany(stored, { $set: { state: 'dead', reason: 'amount_mismatch' } })
  const records = await open.events.find(stored, { projection: { eventId: 1, bodyHash: 1 } }).toArray()
  return new Map(records.map(({ eventId, bodyHash }) => [eventId, bodyHash]))
}

describe('redeliveries beyond the room for them', () => {
  const MOST = 10_000

  it('are dropped with one line and a number for each flush', async () => {
    const { counts, add, dropped, lines } = countWith(async () => undefined)
    const [last] = await storeDead(1)
    if (last === undefined) throw new Error('There is no dead event')
    for (let index = 0; index < MOST; index += 1) add(`absent_${index}`, 'x')
    {
      const how = { closeConnection: true }
      // The driver repeats a read once.
      await using _ = await armFailPoint(database.uri, { commands: ['find'], appName: open.appName, times: 2, how })
      await counts.flush()
    }
    add(...last)
    add(...last)
    add('absent_1', 'x')
    await counts.flush()
    await counts.flush()
    expect(dropped()).toBe(2)
    const reported = lines.filter(({ msg }) => msg === 'inbox.counts-dropped')
    expect(reported).toMatchObject([{ level: 'warn', redeliveries: 2 }])
    expect(await open.record(last[0])).toMatchObject({ state: 'dead', deliveries: 1 })
    add(...last)
    await counts.stop()
    expect(await open.record(last[0])).toMatchObject({ state: 'pending', deliveries: 2 })
  })

  it('are not answered from memory, so that they come again and revive their events', async () => {
    const [[id] = ['']] = await storeDead(1)
    for (let index = 0; index < MOST; index += 1) {
      open.counts.add({
        provider: 'nobody',
        handler: 'fulfilment',
        event: sampleArrival(`absent_${index}`).event,
        bodyHash: 'x',
      })
    }
    {
      const how = { closeConnection: true }
      const commands = ['insert', 'find', 'update']
      await using _ = await armFailPoint(database.uri, { commands, appName: open.appName, times: 1_000, how })
      await open.counts.flush()
      expect(await open.inbox.record(sampleArrival(id))).toBe('not_stored')
    }
    await open.counts.flush()
    expect(await open.inbox.record(sampleArrival(id))).toBe('duplicate')
    await open.counts.flush()
    expect(await open.record(id)).toMatchObject({ state: 'pending', deliveries: 2 })
  })
})
