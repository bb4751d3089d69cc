import { randomUUID } from 'node:crypto'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openInbox, sampleArrival } from '../../testing/open-inbox.ts'
import type { EventDocument } from '../event-document.ts'
import { createRedeliveryCounter, type Requeued } from './redeliveries.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const open = stack.use(await openInbox(database))
beforeEach(() => open.events.deleteMany())

const HOUR_MS = 3_600_000
const deps = {
  ...{
    flushMs: HOUR_MS,
    onBodyConflict: () => undefined,
    onRequeued: async () => undefined,
    onRedelivered: () => undefined,
    onDropped: () => undefined,
  },
  ...{ maxCrashes: 3, redeliveryMs: () => HOUR_MS },
}

function uniqueId(): string {
  return `evt_${randomUUID()}`
}

/** A record that has failed permanently. */
async function storeDead(members: Partial<EventDocument> = {}): Promise<string> {
  const id = uniqueId()
  await open.inbox.record(sampleArrival(id))
  const now = new Date()
  await open.events.updateOne(
    { eventId: id },
    {
      $set: {
        ...{ state: 'dead', reason: 'amount_mismatch', lost: 2, settledAt: now },
        ...{ failing: { times: 7, waitedMs: 9_000, code: 'amount_mismatch', codeMs: 5_000 }, ...members },
      },
    },
  )
  return id
}

describe('add', () => {
  it('counts many deliveries of many events with one read and one write', async () => {
    const ids = Array.from({ length: 30 }, uniqueId)
    await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
    for (const id of [...ids, ...ids]) await open.inbox.record(sampleArrival(id))
    open.commands.length = 0
    await open.counts.flush()
    expect(open.commands.map(({ commandName }) => commandName)).toEqual(['find', 'update'])
    expect(await open.events.countDocuments({ eventId: { $in: ids }, deliveries: 3, mismatches: 0 })).toBe(30)
    open.commands.length = 0
    await open.counts.flush()
    expect(open.commands).toEqual([])
  })

  it('keeps counts that it cannot write for the next time, and says so', async () => {
    const { logger, lines } = memoryLogger()
    const id = await storeDead()
    const { bodyHash } = await open.record(id)
    const counts = createRedeliveryCounter({ ...deps, db: open.db, logger })
    const delivery = { provider: 'acme', handler: 'fulfilment', event: sampleArrival(id).event, bodyHash }
    {
      const how = { closeConnection: true }
      await using _ = await armFailPoint(database.uri, { commands: ['update'], appName: open.appName, how })
      counts.add(delivery)
      await counts.flush()
    }
    expect(lines).toMatchObject([{ msg: 'inbox.counts-deferred', events: 1 }])
    expect(await open.record(id)).toMatchObject({ state: 'dead', deliveries: 1 })
    counts.add(delivery)
    await counts.stop()
    expect(await open.record(id)).toMatchObject({ state: 'pending', deliveries: 3 })
  })

  it('skips one that the server refuses, says so, and reports nothing that did not happen', async () => {
    const { logger, lines } = memoryLogger()
    const mismatched: unknown[] = []
    const onBodyConflict = (...args: unknown[]): void => void mismatched.push(args)
    const [refused, dead] = [uniqueId(), await storeDead()]
    await open.inbox.record(sampleArrival(refused))
    const { bodyHash } = await open.record(dead)
    const counts = createRedeliveryCounter({ ...deps, db: open.db, logger, onBodyConflict })
    await database.db.command({ collMod: 'events', validator: { $nor: [{ eventId: refused, deliveries: 2 }] } })
    counts.add({ provider: 'acme', handler: 'fulfilment', event: sampleArrival(refused).event, bodyHash: 'another' })
    counts.add({ provider: 'acme', handler: 'fulfilment', event: sampleArrival(dead).event, bodyHash })
    await counts.flush()
    await database.db.command({ collMod: 'events', validator: {} })
    expect(mismatched).toEqual([])
    expect(lines).toMatchObject([
      { msg: 'inbox.count-refused', eventId: refused, times: 1, code: 121 },
      { msg: 'event.revived', eventId: dead },
    ])
    open.commands.length = 0
    await counts.stop()
    expect(open.commands).toEqual([])
  })
})

describe('a delivery of a dead event', () => {
  it('makes it due again, keeps its attempts, and resets no limit', async () => {
    const attempt = { at: new Date(), ms: 1, outcome: 'dead', code: 'amount_mismatch', message: 'x' }
    const id = await storeDead({ attempts: [attempt] })
    const before = await open.record(id)
    expect(await open.inbox.record(sampleArrival(id))).toBe('duplicate')
    await open.counts.flush()
    const record = await open.record(id)
    expect(record).toMatchObject({
      state: 'pending',
      reason: null,
      failing: { times: 0 },
      again: { revivals: 1 },
      attempts: [attempt],
    })
    const { lost, failing } = before
    expect(record).toMatchObject({ lost, failing: { ...failing, times: 0 } })
    expect(record.dueAt).toEqual(record.again?.at)
    expect(record).not.toHaveProperty('settledAt')
    const claims = await open.claims().claimDue(10)
    expect(claims, 'it was lost before').toEqual([])
    const suspects = await open.claims().claimSuspects(null, 10)
    expect(suspects.claims.map(({ eventId }) => eventId)).toEqual([id])
  })

  it('is in the audit log before anything changes, and changes nothing if that fails', async () => {
    const id = await storeDead()
    const { _id, bodyHash } = await open.record(id)
    const revival = { id: String(_id), provider: 'acme', eventId: id, reason: 'amount_mismatch' }
    const told: unknown[] = []
    let away = true
    const onRequeued = async (revivals: readonly Requeued[]): Promise<void> => {
      told.push(...revivals, (await open.record(id)).state)
      if (away) throw new Error('The audit log is unavailable')
    }
    const counts = createRedeliveryCounter({ ...deps, db: open.db, logger: memoryLogger().logger, onRequeued })
    counts.add({ provider: 'acme', handler: 'fulfilment', event: sampleArrival(id).event, bodyHash })
    await counts.flush()
    expect(await open.record(id)).toMatchObject({ state: 'dead', deliveries: 1 })
    away = false
    await counts.stop()
    expect(await open.record(id)).toMatchObject({ state: 'pending', deliveries: 2 })
    expect(told).toMatchObject([revival, 'dead', revival, 'dead'])
    // The same entry again, not a second one.
    expect(told[0]).toEqual(told[2])
  })

  it('leaves it dead if the redelivery comes after the horizon of its provider, and says so', async () => {
    const { logger, lines } = memoryLogger()
    const redeliveryMs = (provider: string): number => (provider === 'acme' ? HOUR_MS : 0)
    const counts = createRedeliveryCounter({ ...deps, db: open.db, logger, redeliveryMs })
    const [late, timely] = [await storeDead(), await storeDead()]
    await open.events.updateOne({ eventId: late }, { $set: { receivedAt: new Date(Date.now() - HOUR_MS - 5_000) } })
    await open.events.updateOne({ eventId: timely }, { $set: { receivedAt: new Date(Date.now() - HOUR_MS + 60_000) } })
    for (const id of [late, timely]) {
      const { bodyHash } = await open.record(id)
      counts.add({ provider: 'acme', handler: 'fulfilment', event: sampleArrival(id).event, bodyHash })
    }
    await counts.stop()
    expect(await open.record(late)).toMatchObject({ state: 'dead', reason: 'amount_mismatch', deliveries: 2 })
    expect(await open.record(timely)).toMatchObject({ state: 'pending' })
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'event.not-revived', eventId: late, why: 'too_late' }))
  })

  it('revives it only up to the limit, however often it fails again', async () => {
    const { logger, lines } = memoryLogger()
    const outcomes: string[] = []
    const onRedelivered = (_: string, outcome: string): void => void outcomes.push(outcome)
    const counts = createRedeliveryCounter({ ...deps, db: open.db, logger, onRedelivered })
    const id = await storeDead()
    const { bodyHash } = await open.record(id)
    for (let times = 0; times < 5; times += 1) {
      counts.add({ provider: 'acme', handler: 'fulfilment', event: sampleArrival(id).event, bodyHash })
      await counts.flush()
      await open.events.updateOne({ eventId: id }, { $set: { state: 'dead', reason: 'amount_mismatch' } })
    }
    await counts.stop()
    expect(await open.record(id)).toMatchObject({ again: { revivals: 3 }, deliveries: 6 })
    const [requeued, not] = ['event.revived', 'event.not-revived']
    expect(lines.map(({ msg }) => msg)).toEqual([requeued, requeued, requeued, not, not])
    expect(outcomes).toEqual(['revived', 'revived', 'revived', 'too_often', 'too_often'])
  })

  it('leaves it dead when the body is another', async () => {
    const id = await storeDead()
    await open.inbox.record(sampleArrival(id, { rawBody: Buffer.from('another body') }))
    await open.counts.flush()
    expect(await open.record(id)).toMatchObject({ state: 'dead', failing: { times: 7 }, deliveries: 2, mismatches: 1 })
  })

  it.each(['done', 'unhandled', 'processing', 'closed'] as const)('changes nothing where it is %s', async (state) => {
    const id = await storeDead({ state })
    await open.inbox.record(sampleArrival(id))
    await open.counts.flush()
    expect(await open.record(id)).toMatchObject({
      state,
      reason: 'amount_mismatch',
      failing: { times: 7 },
      deliveries: 2,
    })
  })
})
