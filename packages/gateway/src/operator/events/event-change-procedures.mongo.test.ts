import { randomUUID } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database, { settings: { EVENT_RETENTION_DAYS: '30' } }))
const operator = system.operator()
const DAYS_MS = 30 * 86_400_000
const reason = 'refunded by hand'

/** Sends a delivery of a payment with the wrong amount and waits until it is dead. */
async function deadEvent(): Promise<{ id: string; eventId: string; body: object }> {
  const eventId = randomUUID()
  const body = paymentEvent(eventId, { orderId: await system.order(), amount: 600 })
  expect(await system.deliver(body)).toBe(200)
  const { _id } = await system.until(eventId, ({ state }) => state === 'dead')
  return { id: String(_id), eventId, body }
}

/** An event held by a process that hangs, whose claim has not ended. */
async function heldEvent(): Promise<EventDocument> {
  const held = sampleRecord({ state: 'processing', claim: 'stuck', dueAt: new Date(Date.now() + 50_000) })
  await system.events.insertOne(held)
  return held
}

async function newestEntries(limit: number): Promise<unknown[]> {
  return (await operator.audit.list.query({ limit })).items
}

describe('events.close', () => {
  it('closes a dead event, says who, when and why, and keeps its key permanently', async () => {
    const { id, eventId } = await deadEvent()
    expect(await operator.events.close.mutate({ id, reason })).toEqual({ id, state: 'closed' })
    const record = await system.record(eventId)
    expect(record).toMatchObject({ state: 'closed', reason: 'amount_mismatch', closed: { by: 'alice', reason } })
    expect(record).not.toHaveProperty('expireAt')
    expect(record.stripAt?.getTime()).toBe((record.closed?.at.getTime() ?? 0) + DAYS_MS)
    expect(await newestEntries(1)).toMatchObject([
      { by: 'alice', action: 'events.close', reason, details: { id, provider: 'acme', eventId } },
    ])
    const { closed } = await operator.events.get.query({ id })
    expect(closed).toEqual({ at: record.closed?.at.toISOString(), by: 'alice', reason })
    expect(system.gateway.logs).toContainEqual(expect.objectContaining({ msg: 'event.closed', by: 'alice', id }))
  })

  it('refuses an event that is not dead, and has that in the audit log', async () => {
    const done = sampleRecord()
    await system.events.insertOne(done)
    const closed = await deadEvent()
    await operator.events.close.mutate({ id: closed.id, reason })
    for (const id of [String(done._id), closed.id]) {
      const refusal = await refusalOf(operator.events.close.mutate({ id, reason: 'once more' }))
      expect(refusal).toMatchObject({ reason: 'event_not_dead', httpStatus: 409 })
      expect(await newestEntries(1)).toMatchObject([
        { action: 'events.close', details: { id, refused: 'event_not_dead' } },
      ])
    }
    expect(await system.record(done.eventId)).toMatchObject({ state: 'done' })
    expect(await system.record(closed.eventId)).toMatchObject({ closed: { reason } })
    const unknown = operator.events.close.mutate({ id: 'f'.repeat(24), reason })
    expect(await refusalOf(unknown)).toMatchObject({ reason: 'not_found', httpStatus: 404 })
  })

  it('leaves an event out of replays, unless the replay names it or asks for closed events', async () => {
    const provider = 'replayed-closed'
    const [first, second] = [sampleRecord({ provider, state: 'closed' }), sampleRecord({ provider, state: 'closed' })]
    const at = new Date()
    const closed = { at, by: 'alice', reason }
    await system.events.insertMany([first, second].map((record) => ({ ...record, closed, expireAt: at })))
    const all = { filter: { provider }, includeDone: true, reason: 'all of them' }
    expect(await operator.events.replay.mutate({ ...all, dryRun: true })).toMatchObject({ matched: 0 })
    const asked = { filter: { provider, state: 'closed' as const }, reason: 'closed by mistake' }
    expect(await operator.events.replay.mutate({ ...asked, dryRun: true })).toMatchObject({ matched: 2 })
    const named = await operator.events.replay.mutate({ ids: [String(first._id)], reason: 'closed by mistake' })
    expect(named).toMatchObject({ matched: 1 })
    const record = await system.until(first.eventId, ({ state }) => state === 'unhandled')
    expect(record).not.toHaveProperty('closed')
    expect(await system.record(second.eventId)).toMatchObject({ state: 'closed' })
  })
})

describe('events.release', () => {
  it('makes an event due at once that a process holds, with an entry in the audit log', async () => {
    const held = await heldEvent()
    const id = String(held._id)
    expect(await operator.events.release.mutate({ id, reason: 'the process hangs' })).toEqual({ id, state: 'pending' })
    const record = await system.until(held.eventId, ({ state }) => state === 'unhandled')
    // One more for the claim after the release, which is no loss.
    expect(record).toMatchObject({ starts: held.starts + 1, lost: 0 })
    expect(record).not.toHaveProperty('claim')
    const details = { id, provider: held.provider, eventId: held.eventId }
    expect(await newestEntries(1)).toMatchObject([{ by: 'alice', action: 'events.release', details }])
    expect(system.gateway.logs).toContainEqual(expect.objectContaining({ msg: 'event.released', by: 'alice', id }))
  })

  it('refuses an event that is not being processed', async () => {
    const { id } = await deadEvent()
    const refusal = await refusalOf(operator.events.release.mutate({ id, reason }))
    expect(refusal).toMatchObject({ reason: 'event_not_processing', httpStatus: 409 })
    expect(await newestEntries(1)).toMatchObject([{ details: { id, refused: 'event_not_processing' } }])
  })
})
